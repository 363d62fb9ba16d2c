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

// CaptureLog sends the log of the process, at a verbosity, into out. It comes before
// anything is logged.
func CaptureLog(out *Buffer, verbosity string) {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	_ = flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL", "-v=" + verbosity})
	klog.SetOutput(out)
}
