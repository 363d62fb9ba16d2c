package metrics

import (
	"sync"
	"time"
)

// MaxWorkspaces is how many workspaces have series of their own. Those beyond it share
// one whose workspace is Others: of states it has the largest, of what is counted the
// sum.
const MaxWorkspaces = 1000

// workspaceIdle is how long a workspace without objects keeps its series after
// something of it was counted last.
const workspaceIdle = time.Hour

var (
	workspaceObjects = gauge("workspace_objects",
		"Objects of all kinds that a workspace has in etcd. Every replica tells the same.", "workspace")
	workspaceBytes = gauge("workspace_bytes",
		"Bytes that the objects of a workspace take in etcd. Every replica tells the same.", "workspace")
	workspaceLimit = gauge("workspace_limit",
		"How much of a resource (objects or bytes) a workspace may have; absent without a limit. The workspace default has none.", "resource")
	workspaceWrites = counter("workspace_writes_total",
		"Writes of objects (create, update, delete, status) that requests made in a workspace.", "workspace")
	workspaceRefused = counter("workspace_refused_total",
		"What a limit of its workspace refused: objects and bytes (a write), write_rate, inflight and watches (a request).", "workspace", "limit")
)

// Workspace is what a workspace has at one moment.
type Workspace struct {
	// Name of the workspace.
	Name string
	// Objects and Bytes that it has in etcd.
	Objects int
	Bytes   int64
}

// WorkspaceWrite counts a write of an object.
func WorkspaceWrite(workspace string) {
	workspaceWrites.WithLabelValues(seats.take(workspace, time.Now())).Inc()
}

// The limits that WorkspaceRefused counts by.
const (
	// LimitObjects and LimitBytes refuse a write.
	LimitObjects = "objects"
	LimitBytes   = "bytes"
	// LimitWriteRate, LimitInflight and LimitWatches refuse a request.
	LimitWriteRate = "write_rate"
	LimitInflight  = "inflight"
	LimitWatches   = "watches"
)

// WorkspaceRefused counts what a limit refused, by one of the names above.
func WorkspaceRefused(workspace, limit string) {
	workspaceRefused.WithLabelValues(seats.take(workspace, time.Now()), limit).Inc()
}

// seats are the workspaces that have series of their own.
var seats = seating{most: MaxWorkspaces}

// seating gives the first workspaces that come a series each, and the seat of one that
// has gone to the next. A seat is kept while its workspace is there: a counter that
// moved between two series would count twice.
type seating struct {
	most int

	mu   sync.Mutex
	used map[string]time.Time // when it was counted last
}

// take is the label of a workspace.
func (s *seating) take(workspace string, now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.used[workspace]; !ok {
		if len(s.used) >= s.most {
			return Others
		}
		if s.used == nil {
			s.used = map[string]time.Time{}
		}
	}
	s.used[workspace] = now
	return workspace
}

// leave gives away the seats of those that aren't there any more.
func (s *seating) leave(there map[string]bool, now time.Time) (gone []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ws, last := range s.used {
		if !there[ws] && now.Sub(last) > workspaceIdle {
			delete(s.used, ws)
			gone = append(gone, ws)
		}
	}
	return gone
}

// AddWorkspaces adds what workspaces have to what is served, until remove is called.
// The source is asked at each scrape and must answer at once.
func AddWorkspaces(source func() []Workspace) (remove func()) {
	return sources.workspaces.add(source)
}

// AddWorkspaceLimits adds the limits of workspaces to what is served, until remove is
// called; 0: there is none.
func AddWorkspaceLimits(objects int, bytes int64) (remove func()) {
	return sources.limits.add(map[string]float64{LimitObjects: float64(objects), LimitBytes: float64(bytes)})
}

// workspaces are those of all sources by their labels. Where several sources or
// workspaces share a label, the largest counts.
func workspaces(now time.Time) map[string]Workspace {
	there, out := map[string]bool{}, map[string]Workspace{}
	for _, source := range sources.workspaces.all() {
		for _, w := range source() {
			there[w.Name] = true
			label := seats.take(w.Name, now)
			o := out[label]
			out[label] = Workspace{label, max(o.Objects, w.Objects), max(o.Bytes, w.Bytes)}
		}
	}
	for _, ws := range seats.leave(there, now) {
		workspaceWrites.Delete(map[string]string{"workspace": ws})
		for _, l := range []string{LimitObjects, LimitBytes, LimitWriteRate, LimitInflight, LimitWatches} {
			workspaceRefused.Delete(map[string]string{"workspace": ws, "limit": l})
		}
	}
	return out
}

// workspaceLimits are the limits of all sources by their names, the smallest of each.
func workspaceLimits() map[string]float64 {
	out := map[string]float64{}
	for _, limits := range sources.limits.all() {
		for name, n := range limits {
			if old := out[name]; n > 0 && (old == 0 || n < old) {
				out[name] = n
			}
		}
	}
	return out
}
