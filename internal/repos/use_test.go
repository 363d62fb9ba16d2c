package repos

import (
	"context"
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	k8stesting "k8s.io/client-go/testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/fake"
)

// closer is a hub that notes in which order it is asked.
type closer struct {
	scribe
	writing bool
	closing error
}

func (c *closer) CloseRepo(_ context.Context, ws, name string, uid types.UID) error {
	c.notes = append(c.notes, "close "+ws+"/"+name+" "+string(uid))
	return c.closing
}

func (c *closer) Writing(context.Context, string, string) (bool, error) {
	c.notes = append(c.notes, "writing")
	return c.writing, nil
}

// A deleted AtprotoRepo is closed before its users are looked for, and goes only
// once there is neither a user nor a write in flight.
func TestTermination(t *testing.T) {
	boom := errors.New("etcd is away")
	order := []string{"close ws/a u", "writing", "list infras"}
	for name, c := range map[string]struct {
		hub   closer
		users int
		asked []string
		gone  bool
		err   error
	}{
		"unused":               {asked: order, gone: true},
		"used":                 {users: 1, asked: order},
		"a write is in flight": {hub: closer{writing: true}, asked: order},
		"it can't be closed":   {hub: closer{closing: boom}, asked: order[:1], err: boom},
	} {
		t.Run(name, func(t *testing.T) {
			obj := named("ws", "a")
			now := metav1.Now()
			obj.UID, obj.DeletionTimestamp, obj.Finalizers = "u", &now, []string{v1alpha1.FinalizerInUse}
			client := fake.NewClientset(obj)
			for range c.users {
				infra := &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: "i"}}
				infra.Spec.Record = &v1alpha1.RecordBinding{RepoRef: v1alpha1.RepoReference{Name: "a"}}
				if _, err := client.SocialwebV1alpha1().Infras().Create(t.Context(), infra, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			client.PrependReactor("list", "infras", func(k8stesting.Action) (bool, runtime.Object, error) {
				c.hub.notes = append(c.hub.notes, "list infras")
				return false, nil, nil
			})
			m := New(Config{
				Hub: &c.hub, For: func(string) (versioned.Interface, error) { return client, nil },
				Budgets: atproto.NewBudgets(atproto.BudgetOptions{}),
			})
			defer m.shutDown()
			_, err := m.terminate(t.Context(), key{"ws", "a"}, &repo{}, obj)
			if !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			if !slices.Equal(c.hub.notes, c.asked) {
				t.Errorf("asked %q, want %q", c.hub.notes, c.asked)
			}
			left, err := client.SocialwebV1alpha1().AtprotoRepos().Get(t.Context(), "a", metav1.GetOptions{})
			if gone := apierrors.IsNotFound(err) || err == nil && len(left.Finalizers) == 0; gone != c.gone {
				t.Errorf("gone %t: %+v, %v", gone, left, err)
			}
		})
	}
}
