package bench

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func BenchmarkGet(b *testing.B) {
	e := start(b, nil)
	if _, err := e.put(b.Context(), "one", "one", ""); err != nil {
		b.Fatal(err)
	}
	ours, theirs := turns(b, 300, func(ctx context.Context, _ int) error {
		_, err := e.client.SocialwebV1alpha1().Infras().Get(ctx, "one", metav1.GetOptions{})
		return err
	}, func(ctx context.Context, _ int) error {
		return e.xrpc(ctx, http.MethodGet, fmt.Sprintf("com.atproto.repo.getRecord?repo=%s&collection=%s&rkey=one", e.did(), collection), nil, &struct{}{})
	})
	add(b, result{
		what: "GET of one object", ours: ours.String(), theirs: "raw getRecord: " + theirs.String(), goal: "≤ 1.3",
		where: "the getRecord itself (an open of the PDS's SQLite; getLatestCommit takes as long) and the row of resourceVersion=0 below, which can't overlap it. The etcd read runs meanwhile",
	}, ratio(ours.median(), theirs.median()))
}

// BenchmarkGetBusy: another record of the repository is written all the time, so
// that its head moves between any two reads.
func BenchmarkGetBusy(b *testing.B) {
	e := start(b, nil)
	if _, err := e.put(b.Context(), "one", "one", ""); err != nil {
		b.Fatal(err)
	}
	cid, err := e.put(b.Context(), "other", "0", "")
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() {
		for i := 1; ctx.Err() == nil; i++ {
			next, err := e.put(ctx, "other", fmt.Sprint(i), cid)
			if err != nil {
				ended <- err
				return
			}
			cid = next
		}
		ended <- nil
	}()
	ours, theirs := turns(b, 300, func(ctx context.Context, _ int) error {
		_, err := e.client.SocialwebV1alpha1().Infras().Get(ctx, "one", metav1.GetOptions{})
		return err
	}, func(ctx context.Context, _ int) error {
		return e.xrpc(ctx, http.MethodGet, fmt.Sprintf("com.atproto.repo.getRecord?repo=%s&collection=%s&rkey=one", e.did(), collection), nil, &struct{}{})
	})
	stop()
	if err := <-ended; err != nil && ctx.Err() == nil {
		b.Fatal(err)
	}
	add(b, result{
		what: "GET of one object, another record written all the time", ours: ours.String(), theirs: "raw getRecord: " + theirs.String(), goal: "—",
		where: "as above: the answer is about this record, whatever else moves. Both wait for the puts in the PDS",
	}, ratio(ours.median(), theirs.median()))
}

// BenchmarkGetCached is GET's floor: what the API machinery and TLS take when
// nobody is asked.
func BenchmarkGetCached(b *testing.B) {
	e := start(b, nil)
	if _, err := e.put(b.Context(), "one", "one", ""); err != nil {
		b.Fatal(err)
	}
	if err := e.list(b.Context()); err != nil {
		b.Fatal(err)
	}
	ours, theirs := turns(b, 300, func(ctx context.Context, _ int) error {
		_, err := e.client.SocialwebV1alpha1().Infras().Get(ctx, "one", metav1.GetOptions{ResourceVersion: "0"})
		return err
	}, func(ctx context.Context, _ int) error {
		return e.xrpc(ctx, http.MethodGet, fmt.Sprintf("com.atproto.repo.getRecord?repo=%s&collection=%s&rkey=one", e.did(), collection), nil, &struct{}{})
	})
	add(b, result{
		what: "GET with resourceVersion=0", ours: ours.String(), theirs: "raw getRecord: " + theirs.String(), goal: "—",
		where: "HTTP/2, TLS, authentication, JSON: nobody is asked. The floor of the row above",
	}, ratio(ours.median(), theirs.median()))
}

func BenchmarkPatch(b *testing.B) {
	e := start(b, nil)
	ctx := b.Context()
	if _, err := e.put(ctx, "ours", "0", ""); err != nil {
		b.Fatal(err)
	}
	cid, err := e.put(ctx, "theirs", "0", "")
	if err != nil {
		b.Fatal(err)
	}
	ours, theirs := turns(b, 150, func(ctx context.Context, i int) error {
		patch := fmt.Appendf(nil, `{"spec":{"description":"%d"}}`, i+1)
		_, err := e.client.SocialwebV1alpha1().Infras().Patch(ctx, "ours", types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}, func(ctx context.Context, i int) (err error) {
		cid, err = e.put(ctx, "theirs", fmt.Sprint(i+1), cid)
		return err
	})
	add(b, result{
		what: "PATCH of the declaration", ours: ours.String(), theirs: "raw putRecord with swap: " + theirs.String(), goal: "≤ 1.5",
		where: "the putRecord itself; the intent and the view are two etcd writes",
	}, ratio(ours.median(), theirs.median()))
}

func BenchmarkPatchPrivate(b *testing.B) {
	e := start(b, nil)
	cid, err := e.put(b.Context(), "one", "0", "")
	if err != nil {
		b.Fatal(err)
	}
	ours, theirs := turns(b, 150, func(ctx context.Context, i int) error {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, i+1)
		_, err := e.client.SocialwebV1alpha1().Infras().Patch(ctx, "one", types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}, func(ctx context.Context, i int) (err error) {
		cid, err = e.put(ctx, "one", fmt.Sprint(i+1), cid)
		return err
	})
	add(b, result{
		what: "PATCH of a label", ours: ours.String(), theirs: "raw putRecord with swap: " + theirs.String(), goal: "—",
		where: "one etcd transaction: the PDS isn't asked",
	}, ratio(ours.median(), theirs.median()))
}
