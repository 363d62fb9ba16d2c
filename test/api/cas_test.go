package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// race is many writers of the same records. Every try has a token of its own,
// which it appends to the description, so that lost edits and edits of refused
// writes both show. Each is sent once: a client that sends again by itself, as
// client-go does what is answered 504, is refused the second time for its own edit.
type race struct {
	*env
	t testing.TB

	mu      sync.Mutex
	acked   map[string][]string        // tokens by record
	unknown map[string]map[string]bool // those that nobody knows of, by record
	next    int
}

func (r *race) token() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	return fmt.Sprintf("t%d", r.next)
}

func (r *race) acknowledged(name, token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acked[name] = append(r.acked[name], token)
}

func (r *race) mayStand(name, token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unknown[name] == nil {
		r.unknown[name] = map[string]bool{}
	}
	r.unknown[name][token] = true
}

// put appends by GET and PUT with the resourceVersion.
func (r *race) put(ctx context.Context, name string) (bool, error) {
	obj, err := r.client.Infras().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	token := r.token()
	obj.Spec.Description += " " + token
	return r.outcome(name, token, r.doCtx(ctx, request{method: http.MethodPut, path: infras + "/" + name, body: obj}))
}

// patch appends by GET and a merge patch that carries the resourceVersion.
func (r *race) patch(ctx context.Context, name string) (bool, error) {
	obj, err := r.client.Infras().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	token := r.token()
	body := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"spec":{"description":%q}}`, obj.ResourceVersion, obj.Spec.Description+" "+token)
	return r.outcome(name, token, r.doCtx(ctx, request{method: http.MethodPatch, path: infras + "/" + name, kind: mergePatch, body: body}))
}

// swap appends straight at the PDS, by getRecord and putRecord with swapRecord.
func (r *race) swap(ctx context.Context, name string) (bool, error) {
	got, err := r.account.read(ctx, infraCollection, name)
	if err != nil {
		return false, err
	}
	token := r.token()
	value, _ := got.body["value"].(record)
	value["description"] = value["description"].(string) + " " + token
	ok, err := r.account.swap(ctx, name, got.text("cid"), value)
	if ok {
		r.acknowledged(name, token)
	}
	return ok, err
}

// outcome of an API write: 409 is the one refusal that may happen. A writer that comes
// so late after its put that many others have written since is told 504: its edit stands,
// or doesn't.
func (r *race) outcome(name, token string, a answer) (bool, error) {
	switch {
	case a.err != nil:
		return false, a.err
	case a.status == http.StatusOK:
		r.acknowledged(name, token)
		return true, nil
	case a.status == http.StatusConflict:
		return false, nil
	case a.status == http.StatusGatewayTimeout:
		r.mayStand(name, token)
		return false, nil
	}
	return false, fmt.Errorf("write of %s: %d %s", name, a.status, a.body)
}

// TestNoEditIsLost: writers through the API (PUT, merge patch) and straight at the
// PDS append to the same records, while others set labels. Every acknowledged edit
// is there in the end, once, and no refused one; one of which nobody knows is there
// once at most.
func TestNoEditIsLost(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, a *account) {
		t.Parallel()
		r := &race{env: newEnv(t, a), t: t, acked: map[string][]string{}, unknown: map[string]map[string]bool{}}
		names := []string{"x", "y"}
		for _, n := range names {
			r.create(t, newInfra(n, "start"))
		}
		const edits = 4 // acknowledged ones, of every writer on every record
		writers := []func(context.Context, string) (bool, error){r.put, r.put, r.put, r.patch, r.patch, r.swap, r.swap, r.swap}
		g, ctx := errgroup.WithContext(t.Context())
		for _, write := range writers {
			g.Go(func() error {
				for done := 0; done < edits*len(names); {
					ok, err := write(ctx, names[done%len(names)])
					if err != nil {
						return err
					}
					if ok {
						done++
					}
				}
				return nil
			})
		}
		for w := range 2 {
			g.Go(func() error { return r.label(ctx, names, w) })
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			r.check(n, edits*len(writers))
		}
	})
}

// labels is how many labels each of the two label writers sets on a record.
const labels = 8

// label sets labels by merge patches that depend on nothing: none of them may be
// refused or lost. One of which nobody knows is sent again.
func (r *race) label(ctx context.Context, names []string, writer int) error {
	for i := range labels {
		for _, n := range names {
			body := fmt.Sprintf(`{"metadata":{"labels":{"w%d-%d":"y"}}}`, writer, i)
			patch := request{method: http.MethodPatch, path: infras + "/" + n, kind: mergePatch, body: body}
			a := r.doCtx(ctx, patch)
			for a.status == http.StatusGatewayTimeout {
				a = r.doCtx(ctx, patch)
			}
			if a.err != nil || a.status != http.StatusOK {
				return fmt.Errorf("label patch: %d %s %w", a.status, a.body, a.err)
			}
		}
	}
	return nil
}

func (r *race) check(name string, edits int) {
	r.t.Helper()
	obj := r.infra(r.t, name)
	value, cid := r.account.get(r.t, name)
	if value["description"] != obj.Spec.Description || obj.Status.Record.CID != cid {
		r.t.Errorf("%s: object %q of %s, record %q of %s", name, obj.Spec.Description, obj.Status.Record.CID, value["description"], cid)
	}
	got := strings.Fields(strings.TrimPrefix(obj.Spec.Description, "start"))
	known := slices.DeleteFunc(slices.Clone(got), func(token string) bool { return r.unknown[name][token] })
	want := slices.Clone(r.acked[name])
	slices.Sort(got)
	slices.Sort(known)
	slices.Sort(want)
	if !slices.Equal(known, want) || len(want) != edits || len(slices.Compact(slices.Clone(got))) != len(got) {
		r.t.Errorf("%s: %d tokens %v, acknowledged %d %v, unknown %v", name, len(got), got, len(want), want, r.unknown[name])
	}
	if len(obj.Labels) != 2*labels {
		r.t.Errorf("%s: %d labels of %d", name, len(obj.Labels), 2*labels)
	}
}

// TestStaleWriteIsRefused: a write that is based on what an edit made elsewhere
// has replaced gets 409, whether or not the server had seen that edit, and the
// object then says so until the next write of the declaration.
func TestStaleWriteIsRefused(t *testing.T) {
	t.Parallel()
	for _, seen := range []bool{true, false} {
		t.Run(fmt.Sprintf("edit seen before: %t", seen), func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, a *account) {
				e := newEnv(t, a, deaf)
				stale := e.createSettled(t, newInfra("a", "one"))
				a.put(t, "a", infraRecord("two"))
				if seen {
					e.infra(t, "a")
				}
				stale.Spec.Description = "three"
				_, err := e.client.Infras().Update(t.Context(), stale, metav1.UpdateOptions{})
				if !apierrors.IsConflict(err) {
					t.Fatalf("stale PUT: %v", err)
				}
				if value, _ := a.get(t, "a"); value["description"] != "two" {
					t.Errorf("record %v", value)
				}
				got := e.infra(t, "a")
				c := condition(got, v1alpha1.ConditionSyncConflict)
				if got.Spec.Description != "two" || !seen && (c.Status != metav1.ConditionTrue || c.Reason != v1alpha1.ReasonRecordWon) {
					t.Errorf("object %q, condition %+v", got.Spec.Description, c)
				}
				if err := contains(c.Message, stale.ResourceVersion, got.Status.Record.CID); !seen && err != nil {
					t.Error(err)
				}
				after := e.change(t, "a", func(i *v1alpha1.Infra) { i.Spec.Description = "four" })
				if c := condition(after, v1alpha1.ConditionSyncConflict); c.Status == metav1.ConditionTrue {
					t.Errorf("after a write that succeeded: %+v", c)
				}
			})
		})
	}
}

// TestDryRunLosesNothing: a dry run that would lose its race changes nothing, not
// even a condition.
func TestDryRunLosesNothing(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	e.create(t, newInfra("a", "one"))
	e.settled(t)
	made := e.infra(t, "a")
	before, rev := e.account.raw(t, "a"), e.account.rev(t)
	made.Spec.Description = "two"
	got, err := e.client.Infras().Update(t.Context(), made, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil || got.Spec.Description != "two" {
		t.Fatalf("%v, %v", got, err)
	}
	if err := e.client.Infras().Delete(t.Context(), "a", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.client.Infras().Create(t.Context(), newInfra("b", "x"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	after := e.infra(t, "a")
	if e.account.raw(t, "a") != before || e.account.rev(t) != rev || after.ResourceVersion != made.ResourceVersion {
		t.Errorf("record %s at %s, resourceVersion %s; before: %s at %s, %s",
			e.account.raw(t, "a"), e.account.rev(t), after.ResourceVersion, before, rev, made.ResourceVersion)
	}
	e.account.put(t, "a", infraRecord("elsewhere"))
	got.Spec.Description = "three"
	_, _ = e.client.Infras().Update(t.Context(), got, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	if c := condition(e.infra(t, "a"), v1alpha1.ConditionSyncConflict); c.Status == metav1.ConditionTrue {
		t.Errorf("a dry run left %+v", c)
	}
}
