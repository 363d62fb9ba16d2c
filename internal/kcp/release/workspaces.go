package release

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Workspace is what a server has of one.
type Workspace struct {
	// Name of it.
	Name string
	// Telling are its Infras and EphemeralInfras, and those of its other objects that speak
	// of the workspace. Flagged say that it is gone.
	Telling, Flagged int
	// Objects that it has, by resource.
	Objects map[string]int
}

// Gone tells whether everything that could say so says that it is gone.
func (w *Workspace) Gone() bool { return w.Telling > 0 && w.Flagged == w.Telling }

// Workspaces are all that have objects, by name.
func (s *Server) Workspaces(ctx context.Context) ([]Workspace, error) {
	all, err := s.read(ctx, allWorkspaces)
	if err != nil {
		return nil, err
	}
	by := map[string]*Workspace{}
	all.each(func(resource string, o *item) {
		name := o.Annotations[clusterAnnotation]
		if name == "" {
			name = defaultWorkspace
		}
		w := by[name]
		if w == nil {
			w = &Workspace{Name: name, Objects: map[string]int{}}
			by[name] = w
		}
		w.Objects[resource]++
		is := bound(o)
		if resource == infras || resource == ephemerals || is != "" {
			w.Telling++
		}
		if is == metav1.ConditionFalse {
			w.Flagged++
		}
	}, Resources...)
	out := make([]Workspace, 0, len(by))
	for _, w := range by {
		out = append(out, *w)
	}
	slices.SortFunc(out, func(a, b Workspace) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
