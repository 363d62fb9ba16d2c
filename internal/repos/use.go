package repos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

const (
	// useEvery is how often the users of a terminating AtprotoRepo are counted.
	useEvery = time.Second
	// usersShown are named in the condition; the rest is counted.
	usersShown = 10
)

// terminate lets a deleted AtprotoRepo go when nothing uses it.
func (m *Manager) terminate(ctx context.Context, k key, r *repo, obj *v1alpha1.AtprotoRepo) (time.Duration, error) {
	if r.conn != nil {
		m.mountWith(k, r, obj)
	}
	if !slices.Contains(obj.Finalizers, v1alpha1.FinalizerInUse) || !m.Leading() {
		return useEvery, nil
	}
	client, err := m.For(k.workspace)
	if err != nil {
		return 0, err
	}
	// In this order: once it is closed, no replica begins to bind to it, whatever it
	// has seen of the deletion; and what a write in flight makes is there when it has
	// ended.
	if err := m.Hub.CloseRepo(ctx, k.workspace, k.name, obj.UID); err != nil {
		return 0, err
	}
	writing, err := m.Hub.Writing(ctx, k.workspace, didOf(r, obj))
	if err != nil {
		return 0, err
	}
	users, err := usersOf(ctx, client, k.name)
	if err != nil {
		return 0, err
	}
	if len(users) > 0 {
		return useEvery, m.writeInUse(ctx, client, k, r, obj, users)
	}
	if writing {
		return useEvery, nil
	}
	changed := obj.DeepCopy()
	changed.Finalizers = slices.DeleteFunc(changed.Finalizers, func(f string) bool { return f == v1alpha1.FinalizerInUse })
	_, err = client.SocialwebV1alpha1().AtprotoRepos().Update(ctx, changed, metav1.UpdateOptions{})
	return 0, err
}

// didOf is the account that an AtprotoRepo's objects are of; "": it was never known.
func didOf(r *repo, obj *v1alpha1.AtprotoRepo) string {
	if r.conn != nil {
		return r.conn.did
	}
	a, _ := known(obj)
	return a.did
}

// writeInUse names the users in condition InUse.
func (m *Manager) writeInUse(ctx context.Context, client versioned.Interface, k key, r *repo, obj *v1alpha1.AtprotoRepo, users []string) error {
	status := m.observe(k, r, obj)
	message := strings.Join(users[:min(len(users), usersShown)], ", ")
	if more := len(users) - usersShown; more > 0 {
		message += fmt.Sprintf(" and %d more", more)
	}
	c := conditions{list: &status.Conditions, generation: obj.Generation, now: metav1.NewTime(m.Clock.Now())}
	c.set(v1alpha1.ConditionInUse, yes, "Bound", message)
	if !m.worthWriting(r, &obj.Status, status) {
		return nil
	}
	changed := obj.DeepCopy()
	changed.Status = *status
	_, err := client.SocialwebV1alpha1().AtprotoRepos().UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if err == nil {
		r.statusWritten(m.Clock.Now())
	}
	return err
}

// usersOf names the objects that are bound to a repository now, and the collections
// of it.
func usersOf(ctx context.Context, client versioned.Interface, repo string) ([]string, error) {
	api := client.SocialwebV1alpha1()
	o, err := asOfNow(ctx, client)
	if err != nil {
		return nil, err
	}
	var users []string
	infras, err := api.Infras().List(ctx, o)
	if err != nil {
		return nil, err
	}
	for i := range infras.Items {
		if bound(infras.Items[i].Spec.Record, repo) {
			users = append(users, "infra/"+infras.Items[i].Name)
		}
	}
	ephemeral, err := api.EphemeralInfras().List(ctx, o)
	if err != nil {
		return nil, err
	}
	for i := range ephemeral.Items {
		if bound(ephemeral.Items[i].Spec.Record, repo) {
			users = append(users, "ephemeralinfra/"+ephemeral.Items[i].Name)
		}
	}
	for _, kind := range collectionKinds {
		list, err := kind.api(client).list(ctx, o)
		if err != nil {
			return nil, err
		}
		err = meta.EachListItem(list, func(obj runtime.Object) error {
			if c := kind.of(obj); c.Spec.RepoRef.Name == repo {
				users = append(users, kind.user+"/"+c.Name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(users)
	return users, nil
}

func bound(b *v1alpha1.RecordBinding, repo string) bool { return b != nil && b.RepoRef.Name == repo }
