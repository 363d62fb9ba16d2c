package bindings

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/kcp/export"
)

const (
	// Every is the time from one round to the next.
	Every = time.Minute
	// Apart is how long a workspace has not been shown before it is gone.
	Apart = 5 * time.Minute
)

// State of a workspace.
type State int

const (
	// Unknown: nothing was concluded yet.
	Unknown State = iota
	// Bound: it binds the export.
	Bound
	// Gone: it doesn't any more, or isn't there.
	Gone
)

// Config of a Watcher.
type Config struct {
	// Export whose bindings are looked at.
	Export *export.Client
	// Clock of the rounds.
	Clock clock.WithTicker
	// Workspaces are those that it matters of whether they are gone: they have objects
	// here. It is asked at the begin of each round.
	Workspaces func() []string
	// Changed is told of each workspace whose state has changed, after each round. It must
	// return at once.
	Changed func(workspace string)
	// Observe is told the outcome of each round: how many workspaces bind the export and
	// how many of Workspaces are gone, as far as is known then, and whether the round was
	// complete. nil: nobody is.
	Observe func(bound, gone int, complete bool)
}

// Watcher looks for workspaces that have gone. It is safe for concurrent use.
type Watcher struct {
	Config

	mu    sync.Mutex // guards what follows
	known map[string]*sight
}

// sight is what is known of a workspace.
type sight struct {
	// at is the URL that showed it last; "": none ever did.
	at string
	// absent is when the first complete round ended that hasn't shown it since; zero: the
	// last that could have has.
	absent time.Time
	gone   bool
}

func (s *sight) state() State {
	switch {
	case s == nil:
		return Unknown
	case s.gone:
		return Gone
	case s.at != "":
		return Bound
	}
	return Unknown
}

// New makes a Watcher. Run starts it.
func New(c Config) *Watcher { return &Watcher{Config: c, known: map[string]*sight{}} }

// State of a workspace, as far as is known.
func (w *Watcher) State(workspace string) State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known[workspace].state()
}

// Run looks every minute until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("apiExport", w.Export.Export()))
	ticker := w.Clock.NewTicker(Every)
	defer ticker.Stop()
	for {
		w.Look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// Look is one round.
func (w *Watcher) Look(ctx context.Context) {
	of := w.Workspaces()
	begin := w.Clock.Now()
	shown, missing := w.list(ctx)
	if ctx.Err() != nil {
		return
	}
	if missing != nil {
		klog.FromContext(ctx).Info("Not told of all workspaces that bind the export, will look again: no workspace counts as gone meanwhile that didn't before", "err", missing)
	}
	changed := w.conclude(ctx, of, shown, begin, missing == nil)
	for _, ws := range changed {
		w.Changed(ws)
	}
}

// conclude notes what a round has shown and returns whose state that changes.
func (w *Watcher) conclude(ctx context.Context, of []string, shown map[string]string, begin time.Time, complete bool) (changed []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := map[string]State{}
	for ws, s := range w.known {
		before[ws] = s.state()
	}
	for ws, at := range shown {
		w.known[ws] = &sight{at: at}
	}
	matters := map[string]bool{}
	for _, ws := range of {
		matters[ws] = true
		if w.known[ws] == nil {
			w.known[ws] = &sight{}
		}
	}
	bound, gone := 0, 0
	for ws, s := range w.known {
		if complete && shown[ws] == "" {
			s.miss(begin, w.Clock.Now())
			if !matters[ws] {
				delete(w.known, ws) // nobody asks
				continue
			}
		}
		is := s.state()
		if is != before[ws] {
			changed = append(changed, ws)
			if is == Gone || before[ws] == Gone {
				klog.FromContext(ctx).Info("Workspace looked for", "workspace", ws, "gone", is == Gone)
			}
		}
		switch {
		case is == Gone && matters[ws]:
			gone++
		case is == Bound:
			bound++
		}
	}
	if w.Observe != nil {
		w.Observe(bound, gone, complete)
	}
	return changed
}

// miss notes that a complete round, which took from begin to end, hasn't shown it.
func (s *sight) miss(begin, end time.Time) {
	switch {
	case s.absent.IsZero():
		s.absent = end
	case begin.Sub(s.absent) >= Apart:
		s.gone = true
	}
}
