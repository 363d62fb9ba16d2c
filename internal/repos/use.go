package repos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

const (
	// useEvery is how often the users of a terminating AtprotoRepo are counted.
	useEvery = time.Second
	// usersShown are named in the condition; the rest is counted.
	usersShown = 10
)

// terminate lets a deleted AtprotoRepo go when nothing uses it. It is unmounted
// between two counts, so that nothing is bound to it after the second.
func (m *Manager) terminate(ctx context.Context, k key, r *repo, obj *v1alpha1.AtprotoRepo) (time.Duration, error) {
	if !slices.Contains(obj.Finalizers, v1alpha1.FinalizerInUse) || !m.Leading() {
		return useEvery, nil
	}
	client, err := m.For(k.workspace)
	if err != nil {
		return 0, err
	}
	users, err := usersOf(ctx, client, k.name)
	if err != nil {
		return 0, err
	}
	if len(users) > 0 {
		r.setClosing(false)
		if r.conn != nil {
			m.mountWith(k, r, obj)
		}
		return useEvery, m.writeInUse(ctx, client, k, r, obj, users)
	}
	second := r.setClosing(true)
	m.unmount(k, r)
	if !second {
		return useEvery, nil
	}
	changed := obj.DeepCopy()
	changed.Finalizers = slices.DeleteFunc(changed.Finalizers, func(f string) bool { return f == v1alpha1.FinalizerInUse })
	_, err = client.SocialwebV1alpha1().AtprotoRepos().Update(ctx, changed, metav1.UpdateOptions{})
	return 0, err
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

// usersOf names the objects that are bound to a repository, from the server's
// cache: a dead PDS doesn't keep anybody from deleting an AtprotoRepo.
func usersOf(ctx context.Context, client versioned.Interface, repo string) ([]string, error) {
	fromCache := metav1.ListOptions{ResourceVersion: "0"}
	var users []string
	infras, err := client.SocialwebV1alpha1().Infras().List(ctx, fromCache)
	if err != nil {
		return nil, err
	}
	for i := range infras.Items {
		if bound(infras.Items[i].Spec.Record, repo) {
			users = append(users, "infra/"+infras.Items[i].Name)
		}
	}
	ephemeral, err := client.SocialwebV1alpha1().EphemeralInfras().List(ctx, fromCache)
	if err != nil {
		return nil, err
	}
	for i := range ephemeral.Items {
		if bound(ephemeral.Items[i].Spec.Record, repo) {
			users = append(users, "ephemeralinfra/"+ephemeral.Items[i].Name)
		}
	}
	slices.Sort(users)
	return users, nil
}

func bound(b *v1alpha1.RecordBinding, repo string) bool { return b != nil && b.RepoRef.Name == repo }
