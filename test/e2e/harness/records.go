package harness

import (
	"context"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Collections of our kinds, in repositories.
const (
	InfraCollection          = "computer.socialweb.infra"
	EphemeralInfraCollection = "computer.socialweb.ephemeralInfra"
)

// maxWrites is how many writes the PDS takes at once.
const maxWrites = 200

// CreateRecords makes records past the server, many at once: value gives each by its
// key.
func (p *Plane) CreateRecords(t testing.TB, collection string, rkeys []string, value func(rkey string) map[string]any) {
	t.Helper()
	if err := p.applyWrites(t.Context(), rkeys, func(rkey string) map[string]any {
		v := value(rkey)
		v["$type"] = collection
		return map[string]any{"$type": "com.atproto.repo.applyWrites#create", "collection": collection, "rkey": rkey, "value": v}
	}); err != nil {
		t.Fatal(err)
	}
}

// DeleteRecords deletes records past the server, many at once.
func (p *Plane) DeleteRecords(t testing.TB, collection string, rkeys []string) {
	t.Helper()
	if err := p.deleteRecords(context.WithoutCancel(t.Context()), collection, rkeys); err != nil {
		t.Fatal(err)
	}
}

func (p *Plane) deleteRecords(ctx context.Context, collection string, rkeys []string) error {
	return p.applyWrites(ctx, rkeys, func(rkey string) map[string]any {
		return map[string]any{"$type": "com.atproto.repo.applyWrites#delete", "collection": collection, "rkey": rkey}
	})
}

func (p *Plane) applyWrites(ctx context.Context, rkeys []string, write func(rkey string) map[string]any) error {
	a := p.owner()
	for part := range slices.Chunk(rkeys, maxWrites) {
		var writes []any
		for _, rkey := range part {
			writes = append(writes, write(rkey))
		}
		in := map[string]any{"repo": a.DID, "writes": writes, "validate": false}
		if err := a.Procedure(ctx, "com.atproto.repo.applyWrites", in, nil); err != nil {
			return err
		}
	}
	return nil
}

// Empty deletes every object but the default AtprotoRepo. It is for cleanups of
// cases that have the plane for themselves.
func (p *Plane) Empty(t testing.TB) {
	t.Helper()
	// What is in flight, or not yet known, is refused for a moment.
	if err := eventually(context.WithoutCancel(t.Context()), p.empty); err != nil {
		t.Error(Explain(err))
	}
}

func (p *Plane) empty(ctx context.Context) error {
	client := p.clients.Infra.SocialwebV1alpha1()
	for _, collection := range []string{InfraCollection, EphemeralInfraCollection} {
		for { // pages of what is there
			records, _, err := p.Repo.ListRecords(ctx, collection, "", 100)
			if err != nil {
				return err
			}
			if len(records) == 0 {
				break
			}
			var rkeys []string
			for _, r := range records {
				rkeys = append(rkeys, r.RKey)
			}
			if err := p.deleteRecords(ctx, collection, rkeys); err != nil {
				return err
			}
		}
	}
	// What is left has no record, or a finalizer.
	infras, err := client.Infras().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range infras.Items {
		if err := client.Infras().Delete(ctx, infras.Items[i].Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	ephemeral, err := client.EphemeralInfras().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range ephemeral.Items {
		if err := client.EphemeralInfras().Delete(ctx, ephemeral.Items[i].Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	repos, err := client.AtprotoRepos().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range repos.Items {
		name := repos.Items[i].Name
		if name == RepoName {
			continue
		}
		if err := client.AtprotoRepos().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
