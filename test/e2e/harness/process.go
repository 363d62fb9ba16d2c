package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// spawner starts processes that don't outlive the test binary: the kernel kills
// them when the thread that started them ends. So all are started by one goroutine
// that keeps its thread until close.
type spawner struct{ work chan func() }

func newSpawner() *spawner {
	s := &spawner{make(chan func())}
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		for f := range s.work {
			f()
		}
	}()
	return s
}

func (s *spawner) close() { close(s.work) }

// Process is one running program of the plane. A goroutine reaps it.
type Process struct {
	name, log string
	cmd       *exec.Cmd
	done      chan struct{} // closed once it ended; err is set then
	err       error
}

// start runs a program; what it prints is appended to its log.
func (s *spawner) start(name, log, binary string, args []string) (*Process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer out.Close() //nolint:errcheck // the process has its own
	p := &Process{name: name, log: log, cmd: exec.Command(binary, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.Dir = filepath.Dir(log)
	// A group of its own: a signal from the terminal is for the test, and whatever
	// it forks ends with it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	s.work <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		defer close(p.done)
		p.err = p.cmd.Wait()
	}()
	return p, nil
}

// PID of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed once the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how it ended, once Done is closed: nil with exit code 0.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// ended is how it ended, as an error in any case.
func (p *Process) ended() error {
	if p.err == nil {
		return errors.New("exit status 0")
	}
	return p.err
}

// Signal sends a signal to it; what has ended gets none.
func (p *Process) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// kill ends it with its group, at once.
func (p *Process) kill() {
	_ = syscall.Kill(-p.PID(), syscall.SIGKILL) // it may have ended
	<-p.done
}

// stop ends it in good order; an error says that it had to be killed.
func (p *Process) stop() error {
	p.Signal(syscall.SIGTERM)
	return p.awaitEnd()
}

// awaitEnd waits for the end of what was told to end. (A second signal would end it
// without order.)
func (p *Process) awaitEnd() error {
	select {
	case <-p.done:
		return nil
	case <-time.After(stopTimeout):
		p.kill()
		return fmt.Errorf("%s did not end within %s after SIGTERM", p.name, stopTimeout)
	}
}

// await asks until it is ready, and says how things stand where it doesn't become
// so, or ends.
func (p *Process) await(ctx context.Context, ask func(context.Context) error) error {
	err := eventually(ctx, func(ctx context.Context) error {
		select {
		case <-p.done:
			return fatal{fmt.Errorf("it ended: %w", p.ended())}
		default:
			return ask(ctx)
		}
	})
	if err != nil {
		return fmt.Errorf("%s is not ready: %w; the end of its log:\n%s", p.name, err, tail(p.log, 30))
	}
	return nil
}

// fatal is an error that no waiting mends.
type fatal struct{ error }

// eventually asks until there is no error, for as long as a start may take.
func eventually(ctx context.Context, ask func(context.Context) error) error {
	var last error
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		err := ask(ctx)
		if f := (fatal{}); errors.As(err, &f) {
			return false, f.error
		}
		if err == nil || ctx.Err() == nil { // what a cut request says is nothing new
			last = err
		}
		return err == nil, nil
	})
	if err != nil && last != nil && wait.Interrupted(err) {
		return last
	}
	return err
}

// tail is the last lines of a file, for a person.
func tail(file string, lines int) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
