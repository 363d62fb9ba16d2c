package bindings

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"socialweb.computer/infra-apiserver/internal/kcp/export"
)

// clusterAnnotation names the workspace on every object of a kcp.
const clusterAnnotation = "kcp.io/cluster"

// Shown asks all shards once which workspaces bind the export. missing says why there may
// be others; nil: these are all that are shown now.
func Shown(ctx context.Context, e *export.Client) (workspaces map[string]bool, missing error) {
	shown, missing := New(Config{Export: e}).list(ctx)
	workspaces = map[string]bool{}
	for ws := range shown {
		workspaces[ws] = true
	}
	return workspaces, missing
}

// list asks all shards which workspaces bind the export, and returns the URL that has
// shown each. missing says why there may be others; nil: these are all.
func (w *Watcher) list(ctx context.Context) (shown map[string]string, missing error) {
	shown = map[string]string{}
	var urls []string
	slice, err := w.Export.Slice(ctx)
	if err == nil {
		urls, err = slices.Clone(slice.URLs), slice.Incomplete
	}
	errs := []error{err}
	for _, u := range w.remembered() {
		if !slices.Contains(urls, u) {
			urls = append(urls, u)
		}
	}
	failed := map[string]error{}
	for _, u := range urls {
		if err := w.listAt(ctx, u, shown); err != nil {
			failed[u] = fmt.Errorf("%s: %w", u, err)
		}
	}
	for u, err := range failed {
		if slice != nil && !slices.Contains(slice.URLs, u) && !w.waitsFor(u, shown) {
			continue // what was last seen there is elsewhere now
		}
		errs = append(errs, err)
	}
	return shown, errors.Join(errs...)
}

// listAt adds what one shard shows.
func (w *Watcher) listAt(ctx context.Context, u string, shown map[string]string) error {
	all, err := w.Export.BindingsIn(ctx, u, export.AllWorkspaces)
	for i := range all {
		ws := all[i].Annotations[clusterAnnotation]
		if ws == "" {
			return fmt.Errorf("APIBinding %s doesn't say of which workspace it is", all[i].Name)
		}
		shown[ws] = u
	}
	return err
}

// remembered are the URLs that have shown a workspace last.
func (w *Watcher) remembered() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, s := range w.known {
		if s.at != "" && !s.gone && !slices.Contains(out, s.at) {
			out = append(out, s.at)
		}
	}
	slices.Sort(out)
	return out
}

// waitsFor tells whether a workspace was last seen at a URL and is shown nowhere now.
func (w *Watcher) waitsFor(u string, shown map[string]string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ws, s := range w.known {
		if s.at == u && !s.gone && shown[ws] == "" {
			return true
		}
	}
	return false
}
