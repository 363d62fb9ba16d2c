package devpds

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// crashDir names the data directory to the crash test's child process.
const crashDir = "DEVPDS_CRASH_DIR"

// runCrashChild is the child: it writes as fast as it can and prints each write
// that was acknowledged, until it is killed.
func runCrashChild() bool {
	dir := os.Getenv(crashDir)
	if dir == "" {
		return false
	}
	s, err := Open(Config{Dir: dir, ListenAddr: "-", PublicURL: "http://pds.test", Accounts: crashAccounts})
	if err != nil {
		fmt.Fprintln(os.Stdout, "error", err)
		return true
	}
	t := &childT{}
	c := (&caller{t: t, h: s.Handler(), base: s.URL()}).login(s.Accounts()[0])
	fmt.Fprintln(os.Stdout, "ready")
	for i := 0; ; i++ {
		rkey := fmt.Sprint("r", i%20)
		r := c.put(rkey, object{"n": time.Now().UnixNano() / 1000})
		rev, _ := r.body["commit"].(object)["rev"].(string)
		fmt.Fprintln(os.Stdout, "put", rkey, r.text("cid"), rev)
	}
}

// childT fails the child process.
type childT struct{ testing.TB }

func (*childT) Helper()                  {}
func (*childT) Context() context.Context { return context.Background() }
func (*childT) Fatalf(format string, args ...any) {
	fmt.Fprintf(os.Stdout, "error "+format+"\n", args...)
	os.Exit(1)
}

var crashAccounts = []AccountConfig{{Handle: "alice.test", Password: "a-password"}}

// TestCrash kills a writing server without warning, several times on the same
// data, and wants every acknowledged write, a whole repository and an unbroken
// stream of events each time.
func TestCrash(t *testing.T) {
	dir := t.TempDir()
	for round := range 4 {
		acked := crashOnce(t, dir, 20+17*round)
		s, err := Open(Config{Dir: dir, ListenAddr: "-", PublicURL: "http://pds.test", Accounts: crashAccounts})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		c := (&caller{t: t, h: s.Handler(), base: s.URL()}).login(s.Accounts()[0])
		snap := s.repository(c.did).cur.Load()
		if snap.rev < acked.rev {
			t.Errorf("round %d: rev %s, acknowledged was %s", round, snap.rev, acked.rev)
		}
		model := map[string]string{}
		for _, rec := range records(snap) {
			model[rec.path] = rec.cid.String()
		}
		// One more write may have been made whose acknowledgement was lost.
		if snap.rev == acked.rev {
			for path, id := range acked.records {
				if model[path] != id {
					t.Errorf("round %d: %s is %s, acknowledged was %s", round, path, model[path], id)
				}
			}
		}
		verifyEvents(t, s, c.did)
		verifyExport(t, c, model)
		c.put("after", object{"round": round}).want(t, 200, "")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// acked is what the child acknowledged.
type acked struct {
	rev     string
	records map[string]string
}

// crashOnce runs the child until it acknowledged n writes, and kills it.
func crashOnce(t *testing.T, dir string, n int) acked {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a := acked{records: map[string]string{}}
	lines := bufio.NewScanner(out)
	killed := false
	for lines.Scan() { // to the end: what was printed was acknowledged
		f := strings.Fields(lines.Text())
		switch {
		case len(f) == 4 && f[0] == "put":
			a.records[pathOf(collection, f[1])], a.rev = f[2], f[3]
			n--
		case f[0] == "error":
			t.Error(lines.Text())
		}
		if n <= 0 && !killed {
			killed = true
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // killed
	if !killed {
		t.Fatal("the child ended by itself")
	}
	return a
}

// records of a snapshot.
func records(s *snapshot) []record {
	var out []record
	s.records.Ascend(func(r record) bool { out = append(out, r); return true })
	return out
}
