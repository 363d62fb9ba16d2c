package credentials

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/kcp/export"
)

const (
	// sliceTerm is how long the addresses of the shards count. A workspace that is found
	// at none of them has them read again at once.
	sliceTerm = time.Minute
	// maxHomes bounds for how many workspaces is remembered where they are.
	maxHomes = 10_000
	// clusterAnnotation names the workspace on every object of a kcp.
	clusterAnnotation = "kcp.io/cluster"
)

// Workspaces finds credentials in Secrets of the workspaces of a kcp: those of one
// namespace, named as the API names them, which each workspace lets us read by accepting
// the permission claim of an APIExport.
type Workspaces struct {
	export    *export.Client
	namespace string
	clock     clock.PassiveClock
	// reading is full while somebody reads the addresses: all who miss them wait for one.
	reading chan struct{}

	mu    sync.Mutex // guards what follows
	urls  []string
	read  time.Time         // when urls were read
	reads int               // how many times
	home  map[string]string // workspace → the URL that has it
}

var _ Provider = (*Workspaces)(nil)

// NewWorkspaces reads the Secrets of a namespace of each workspace through the virtual
// workspaces of an export.
func NewWorkspaces(e *export.Client, namespace string, c clock.PassiveClock) *Workspaces {
	return &Workspaces{export: e, namespace: namespace, clock: c, reading: make(chan struct{}, 1), home: map[string]string{}}
}

// Get implements Provider.
func (w *Workspaces) Get(ctx context.Context, workspace, name string) (Credentials, error) {
	if err := checkNames(workspace, name); err != nil {
		return Credentials{}, err
	}
	secret, err := w.find(ctx, workspace, name)
	if errors.Is(err, ErrNotFound) {
		return Credentials{}, err
	}
	if err != nil {
		return Credentials{}, unavailable(workspace, name, err)
	}
	c, err := parse(secret.Data[IdentifierKey], secret.Data[PasswordKey], secret.Data[PDSKey])
	if err != nil {
		return Credentials{}, fmt.Errorf("credentials %s/%s: Secret %s/%s of the workspace: %w", workspace, name, w.namespace, name, err)
	}
	return c, nil
}

// find asks the shards in turn, the one first that had the workspace before. Where none
// has it, it may be on one that wasn't known.
func (w *Workspaces) find(ctx context.Context, workspace, name string) (*corev1.Secret, error) {
	urls, fresh, err := w.known(ctx, workspace)
	if err != nil {
		return nil, err
	}
	secret, tried, err := w.try(ctx, urls, workspace, name)
	if secret != nil || errors.Is(err, ErrNotFound) || fresh {
		return secret, err
	}
	now, rerr := w.refresh(ctx)
	if rerr != nil {
		return nil, errors.Join(err, rerr)
	}
	var others []string
	for _, u := range now {
		if !tried[u] {
			others = append(others, u)
		}
	}
	if len(others) == 0 {
		return nil, err
	}
	secret, _, oerr := w.try(ctx, others, workspace, name)
	if secret != nil || errors.Is(oerr, ErrNotFound) {
		return secret, oerr
	}
	return nil, errors.Join(err, oerr)
}

// known are the addresses, that of the workspace first. fresh: they were just read.
func (w *Workspaces) known(ctx context.Context, workspace string) (urls []string, fresh bool, err error) {
	w.mu.Lock()
	old := w.reads == 0 || w.clock.Since(w.read) >= sliceTerm
	w.mu.Unlock()
	if old {
		// Where the provider's workspace is away, what was known before goes on to count.
		_, err = w.refresh(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reads == 0 {
		return nil, false, err
	}
	home, ok := w.home[workspace]
	if ok {
		urls = append(urls, home)
	}
	for _, u := range w.urls {
		if u != home {
			urls = append(urls, u)
		}
	}
	return urls, old && err == nil, nil
}

// refresh reads the addresses, unless somebody did while this waited for its turn.
func (w *Workspaces) refresh(ctx context.Context) ([]string, error) {
	w.mu.Lock()
	before := w.reads
	w.mu.Unlock()
	select {
	case w.reading <- struct{}{}:
		defer func() { <-w.reading }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	w.mu.Lock()
	urls, reads := w.urls, w.reads
	w.mu.Unlock()
	if reads != before {
		return urls, nil
	}
	slice, err := w.export.Slice(ctx)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.urls, w.read = slice.URLs, w.clock.Now()
	w.reads++
	return slice.URLs, nil
}

func (w *Workspaces) remember(workspace, at string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.home) >= maxHomes {
		clear(w.home)
	}
	w.home[workspace] = at
}

// try asks one address after the other. ErrNotFound is the word of the workspace itself.
func (w *Workspaces) try(ctx context.Context, urls []string, workspace, name string) (secret *corev1.Secret, tried map[string]bool, err error) {
	tried = map[string]bool{}
	var errs []error
	for _, u := range urls {
		tried[u] = true
		secret, err := w.ask(ctx, u, workspace, name)
		switch {
		case err == nil || errors.Is(err, ErrNotFound):
			w.remember(workspace, u)
			return secret, tried, err
		case ctx.Err() != nil:
			return nil, tried, context.Cause(ctx)
		case apierrors.IsForbidden(err):
			if err = w.whyForbidden(ctx, u, workspace); err == nil {
				continue // it is none of this shard's
			}
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		errs = append(errs, fmt.Errorf("no virtual workspace of the APIExport %s shows the workspace (%d asked): it doesn't bind the export (any more), or this server lacks the verb get on apiexports/content there",
			w.export.Export(), len(urls)))
	}
	return nil, tried, errors.Join(errs...)
}

// ask one address. ErrNotFound only where the server that has the workspace says of this
// very Secret that it isn't there, or isn't labelled as the claim was accepted for.
func (w *Workspaces) ask(ctx context.Context, at, workspace, name string) (*corev1.Secret, error) {
	var s corev1.Secret
	path := at + "/clusters/" + workspace + "/api/v1/namespaces/" + url.PathEscape(w.namespace) + "/secrets/" + url.PathEscape(name)
	err := w.export.Get(ctx, path, &s)
	switch {
	case saysGone(err, name):
		return nil, fmt.Errorf("%w: the workspace %s has no Secret %s/%s, or its labels are none that the permission claim was accepted for", ErrNotFound, workspace, w.namespace, name)
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("the APIExport %s doesn't show Secrets: see that it claims them (%s)", w.export.Export(), err.Error())
	case err != nil:
		return nil, err
	case s.Kind != "Secret" || s.Name != name || s.Namespace != w.namespace || (s.Annotations[clusterAnnotation] != "" && s.Annotations[clusterAnnotation] != workspace):
		return nil, errors.New("kcp answered with another object than the Secret that was asked for")
	}
	return &s, nil
}

// saysGone tells whether a 404 is about the Secret. One about its kind, or of a proxy on
// the way, says nothing of it.
func saysGone(err error, name string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	d := status.Status().Details
	return d != nil && d.Kind == "secrets" && d.Name == name && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// whyForbidden tells why a shard refused: kcp doesn't say. nil: it has no APIBinding of
// the export in the workspace, or doesn't show it.
func (w *Workspaces) whyForbidden(ctx context.Context, at, workspace string) error {
	bindings, err := w.export.BindingsIn(ctx, at, workspace)
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("kcp refuses the Secret, and doesn't tell why: %w", err)
	}
	if len(bindings) == 0 {
		return nil
	}
	var names []string
	for i := range bindings {
		names = append(names, bindings[i].Name)
	}
	return fmt.Errorf("the workspace's APIBinding %s hasn't accepted the permission claim to get Secrets: set its state to Accepted in spec.permissionClaims", strings.Join(names, ", "))
}
