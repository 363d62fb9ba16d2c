// Package testkubectl runs the real kubectl, which `make bin/kubectl` builds, in
// tests.
package testkubectl

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// commandTimeout ends a command that hangs.
const commandTimeout = 6 * time.Minute

// Kubectl is the real kubectl, with one kubeconfig.
type Kubectl struct {
	binary, kubeconfig, home string
	env                      []string
}

// Result of a command.
type Result struct {
	// Out and Err are what it printed.
	Out, Err string
	// Code is its exit code.
	Code int
}

// New finds the kubectl and lets it use a kubeconfig. Its caches are the test's own.
func New(t testing.TB, kubeconfig string) *Kubectl {
	t.Helper()
	root, err := ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(root, "bin", "kubectl")
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("%v: make bin/kubectl", err)
	}
	return &Kubectl{binary: binary, kubeconfig: kubeconfig, home: t.TempDir()}
}

// With adds variables (NAME=value) to the environment of what it returns.
func (k *Kubectl) With(env ...string) *Kubectl {
	c := *k
	c.env = append(append([]string(nil), k.env...), env...)
	return &c
}

// Command makes a command for the caller to start.
func (k *Kubectl) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, k.binary, args...)
	cmd.Env = append([]string{"KUBECONFIG=" + k.kubeconfig, "HOME=" + k.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}, k.env...)
	return cmd
}

// Do runs a command with stdin, whatever becomes of it.
func (k *Kubectl) Do(t testing.TB, stdin string, args ...string) Result {
	t.Helper()
	// Without the test's end: cleanups run commands too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), commandTimeout)
	defer cancel()
	cmd := k.Command(ctx, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return Result{out.String(), errOut.String(), cmd.ProcessState.ExitCode()}
}

// Run runs a command that must succeed, and returns what it printed.
func (k *Kubectl) Run(t testing.TB, args ...string) string {
	t.Helper()
	return k.RunIn(t, "", args...)
}

// RunIn is Run with stdin.
func (k *Kubectl) RunIn(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	r := k.Do(t, stdin, args...)
	if r.Code != 0 {
		t.Fatalf("kubectl %s: exit %d\n%s%s", strings.Join(args, " "), r.Code, r.Out, r.Err)
	}
	return r.Out
}

// Fails runs a command that must fail, and returns its error output.
func (k *Kubectl) Fails(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	r := k.Do(t, stdin, args...)
	if r.Code == 0 {
		t.Fatalf("kubectl %s succeeded\n%s%s", strings.Join(args, " "), r.Out, r.Err)
	}
	return r.Err
}

// ModuleRoot is the directory of go.mod, above the test's own.
func ModuleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = parent
	}
}
