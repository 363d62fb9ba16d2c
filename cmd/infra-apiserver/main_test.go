package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"socialweb.computer/infra-apiserver/internal/testbinary"
)

// asMain makes the test's own binary behave as the command.
const asMain = "INFRA_APISERVER_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asMain+"=1")
	return cmd
}

// process is a running dev.
type process struct {
	cmd    *exec.Cmd
	stderr testbinary.Buffer
}

// startDev starts dev as a process of its own and waits until it is ready.
func startDev(t *testing.T, dir string) *process {
	t.Helper()
	p := &process{cmd: command(t.Context(), "dev", "--data-dir", dir, "--secure-port", "0", "--pds-port", "0")}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	controller := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		controller = controller || strings.HasPrefix(lines.Text(), "controller ")
		if strings.HasPrefix(lines.Text(), "ready ") {
			if !controller {
				t.Error("it runs without the controller")
			}
			return p
		}
	}
	t.Fatalf("it ended: %v\n%s", p.cmd.Wait(), &p.stderr)
	return nil
}

func (p *process) end(t *testing.T, s os.Signal) *os.ProcessState {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait() // the state tells
	return p.cmd.ProcessState
}

func did(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "pds.json"))
	if err != nil {
		t.Fatal(err)
	}
	var info struct{ DID string }
	if err := json.Unmarshal(b, &info); err != nil {
		t.Fatal(err)
	}
	return info.DID
}

// hurried is what the libraries say of an end, and of nothing else: that connections took
// longer than it waits for them, and that the look at etcd's compaction, a second after
// each start, was under way.
var hurried = regexp.MustCompile(`Failed to shutdown server: context deadline exceeded$|` +
	`get "compact_rev_key" failed: context canceled$|"retrying of unary invoker failed",.*desc = context canceled"}$`)

// One interrupt ends dev with exit code 0; what was there is there at the next
// start, also after a kill.
func TestDevAsAProcess(t *testing.T) {
	dir := t.TempDir()
	p := startDev(t, dir)
	first := did(t, dir)
	if said := p.stderr.String(); said != "" {
		t.Errorf("the console has more than the start steps: %s", said)
	}
	if s := p.end(t, syscall.SIGINT); s.ExitCode() != 0 {
		t.Errorf("after an interrupt: %s\n%s", s, &p.stderr)
	}
	for line := range strings.Lines(p.stderr.String()) {
		if line = strings.TrimSpace(line); !hurried.MatchString(line) && line != "" {
			t.Errorf("the console has more than the start steps: %s", line)
		}
	}
	p = startDev(t, dir)
	if s := p.end(t, syscall.SIGKILL); s.Exited() {
		t.Errorf("after a kill: %s", s)
	}
	p = startDev(t, dir)
	if got := did(t, dir); got != first {
		t.Errorf("account %s, before %s", got, first)
	}
	if s := p.end(t, syscall.SIGTERM); s.ExitCode() != 0 {
		t.Errorf("after SIGTERM: %s\n%s", s, &p.stderr)
	}
}

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"--help"}, 0, []string{"serve", "dev"}},
		{[]string{"serve", "--help"}, 0, []string{"--etcd-servers", "--requestheader-client-ca-file", "--credentials-dir", "--workspaces", "--tls-cert-file"}},
		{[]string{"dev", "--help"}, 0, []string{"--data-dir", "--pds", "--secure-port"}},
		{[]string{"serve"}, 1, []string{"--etcd-servers must be specified", "--kubeconfig is empty"}},
		{[]string{"serve", "--feature-gates=Nope=true"}, 1, []string{"feature gate", "Nope"}},
		{[]string{"serve", "extra"}, 1, []string{"extra"}},
		{[]string{"nothing"}, 1, []string{"unknown command"}},
		{[]string{"dev", "--pds", "http://127.0.0.1:1"}, 1, []string{"--identifier"}},
	} {
		cmd := command(t.Context(), c.args...)
		cmd.Dir = t.TempDir()
		out, _ := cmd.CombinedOutput() // the state tells
		if code := cmd.ProcessState.ExitCode(); code != c.code {
			t.Errorf("%v: exit %d, want %d\n%s", c.args, code, c.code, out)
		}
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%v: %q lacks %q", c.args, out, want)
			}
		}
	}
}
