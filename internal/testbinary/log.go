package testbinary

import (
	"bytes"
	"flag"
	"sync"

	"k8s.io/klog/v2"
)

// Buffer is one that many goroutines may write to.
type Buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// Bytes is a copy of everything so far.
func (b *Buffer) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.buf.Bytes())
}

// String is everything so far.
func (b *Buffer) String() string { return string(b.Bytes()) }

// Take is everything since the last call, which it forgets.
func (b *Buffer) Take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.buf.Reset()
	return b.buf.String()
}

// Len is how long it is.
func (b *Buffer) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Len()
}

// From is a copy of what came after the first n bytes.
func (b *Buffer) From(n int) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.buf.Bytes()[n:])
}

// CaptureLog sends the log of the process, at a verbosity, into out. It comes before
// anything is logged.
func CaptureLog(out *Buffer, verbosity string) {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	_ = flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL", "-v=" + verbosity})
	klog.SetOutput(out)
}
