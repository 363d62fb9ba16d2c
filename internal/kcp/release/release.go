package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

const (
	// DefaultTimeout is how long a release waits for what it has asked for.
	DefaultTimeout = 10 * time.Minute
	// defaultPoll is the time between two looks.
	defaultPoll = time.Second
	// shownNames is how many objects a message names.
	shownNames = 5
)

// Options of a release.
type Options struct {
	// Server that has the workspace.
	Server *Server
	// Workspace to release.
	Workspace string
	// Force releases one that isn't told to be gone.
	Force bool
	// DryRun tells what would be done, and does nothing.
	DryRun bool
	// Timeout of it all; 0: DefaultTimeout.
	Timeout time.Duration
	// Poll is the time between two looks; 0: a second.
	Poll time.Duration
	// Out is told what is done.
	Out io.Writer
}

// ErrNotGone: nothing, or not everything, says that the workspace is gone.
var ErrNotGone = errors.New("the workspace isn't told to be gone")

// Run releases a workspace, and returns nil once it has no objects left. What it couldn't
// end in time is an error that names what is left; called again it goes on.
func Run(ctx context.Context, o Options) error {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	if err := checkName(o.Workspace); err != nil {
		return err
	}
	r := &run{Options: o, told: map[string]bool{}}
	has, err := o.Server.read(ctx, o.Workspace)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "workspace %s: %s\n", o.Workspace, has)
	if has.count(Resources...) == 0 {
		return nil
	}
	if err := r.refuse(has); err != nil {
		return err
	}
	if o.DryRun {
		r.plan(has)
		return nil
	}
	return r.loop(ctx)
}

// checkName refuses what isn't one workspace.
func checkName(ws string) error {
	switch {
	case ws == defaultWorkspace:
		return fmt.Errorf("workspace %q is the server's own, which no kcp can take away", ws)
	case !isLabel(ws):
		return fmt.Errorf("workspace %q: write the name of one logical cluster, as kcp workspaces shows it", ws)
	}
	return nil
}

// refuse tells why the workspace is not to be released.
func (r *run) refuse(has objects) error {
	if r.Force {
		return nil
	}
	var not []string
	said := false
	has.each(func(resource string, o *item) {
		is := bound(o)
		said = said || is == metav1.ConditionFalse
		// Of what leads to repositories only the server may say it, and needn't; nor need it
		// be said of a ComputeContract, which may be served elsewhere.
		deploys := resource == infras || resource == ephemerals
		if o.DeletionTimestamp == nil && is != metav1.ConditionFalse && (deploys || is == metav1.ConditionTrue) {
			not = append(not, title(resource, o))
		}
	}, telling...)
	switch {
	case len(not) > 0:
		return fmt.Errorf("%w: condition %s isn't False on %s; the controller sets it, on AtprotoRepos and collections the server (run with --workspaces and --kcp-kubeconfig); --force releases it all the same",
			ErrNotGone, v1alpha1.ConditionWorkspaceBound, some(not))
	case !said && has.count(infras, ephemerals) == 0 && !r.begun(has):
		return fmt.Errorf("%w: it has nothing that would say so; --force releases it all the same", ErrNotGone)
	}
	return nil
}

// begun tells whether a release was interrupted: an AtprotoRepo says so.
func (r *run) begun(has objects) bool {
	return slices.ContainsFunc(has[repos], func(o item) bool { return o.Annotations[v1alpha1.AnnotationReleasing] != "" })
}

// plan prints what would be done.
func (r *run) plan(has objects) {
	has.each(func(resource string, o *item) {
		switch {
		case resource == repos:
			r.say(title(resource, o), "would go last, once nothing is bound to it")
		case resource == collections || resource == ephemeralCs:
			r.say(title(resource, o), "would be deleted, its objects stay at first")
		case resource == contracts && metav1.GetControllerOfNoCopy(o) != nil:
		case resource == contracts:
			r.say(title(resource, o), "would be released and deleted")
		case uri(o) != "":
			r.say(title(resource, o), "would release its contracts and be deleted; its record "+uri(o)+" stays")
		default:
			r.say(title(resource, o), "would release its contracts and be deleted")
		}
	}, collections, ephemeralCs, infras, ephemerals, contracts, repos)
}

// uri of the record; "": it has none.
func uri(o *item) string {
	if o.Status.Record == nil {
		return ""
	}
	return o.Status.Record.URI
}

// some names of many.
func some(names []string) string {
	if n := len(names) - shownNames; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shownNames], ", "), n)
	}
	return strings.Join(names, ", ")
}
