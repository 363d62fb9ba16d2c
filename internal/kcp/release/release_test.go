package release_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/internal/kcp/release"
	"socialweb.computer/infra-apiserver/internal/testbinary"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// interrupted runs a release until it has said words and something is so, and interrupts
// it then.
func (s *site) interrupted(words string, so func(context.Context) (bool, error)) (string, error) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	var out testbinary.Buffer
	ended := make(chan error, 1)
	go func() { ended <- s.runIn(ctx, &out, release.Options{}) }()
	s.eventually("what is to be interrupted", func(ctx context.Context) (bool, error) {
		is, err := so(ctx)
		return is && strings.Contains(out.String(), words), err
	})
	cancel()
	err := <-ended
	return out.String(), err
}

// run a release, and return what it printed.
func (s *site) run(o release.Options) (string, error) {
	s.Helper()
	var out testbinary.Buffer
	err := s.runIn(s.Context(), &out, o)
	return out.String(), err
}

func (s *site) runIn(ctx context.Context, out io.Writer, o release.Options) error {
	server, err := release.NewServer(s.dev.Config)
	if err != nil {
		return err
	}
	o.Server, o.Out, o.Poll = server, out, 20*time.Millisecond
	if o.Workspace == "" {
		o.Workspace = "goes"
	}
	return release.Run(ctx, o)
}

// A workspace that goes is released when somebody says so, also while its PDS is away, and
// by as many calls as it takes. Records stay, and nothing of another workspace is touched.
func TestRelease(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.refuses()
	s.populate()
	if _, err := s.run(release.Options{}); !errors.Is(err, release.ErrNotGone) {
		t.Errorf("one that is there: %v", err)
	}
	others, records := s.versions("default"), s.records()
	s.kcp.Shard(0).Unbind("goes")
	s.eventually("the flags", s.flagged)
	s.listed()
	before := s.versions("goes")
	out, err := s.run(release.Options{DryRun: true})
	if err != nil || !strings.Contains(out, "infra/web: would release its contracts and be deleted; its record at://"+s.bob.DID) || !strings.Contains(out, "atprotorepo/bob: would go last") {
		t.Errorf("dry run: %v\n%s", err, out)
	}
	if after := s.versions("goes"); !maps.Equal(before, after) {
		t.Errorf("a dry run changed %v to %v", before, after)
	}

	s.pds.Stop()
	out, err = s.interrupted("infra/alices: deleted", func(ctx context.Context) (bool, error) {
		cc, err := s.in("goes").ComputeContracts().Get(ctx, "infra-web-front", metav1.GetOptions{})
		return err == nil && cc.Spec.Release, err
	})
	if err == nil || !strings.Contains(err.Error(), "interrupted; left: ") || !strings.Contains(err.Error(), "call it again") || !strings.Contains(err.Error(), "infra-web-front (Held)") {
		t.Errorf("what is held is not released: %v\n%s", err, out)
	}
	all := out
	if _, err := s.in("goes").ComputeContracts().Patch(t.Context(), "infra-web-front", types.MergePatchType, []byte(`{"status":{"phase":"Released"}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	if out, err = s.run(release.Options{Timeout: 2 * time.Minute}); err != nil || !strings.Contains(out, "workspace goes is released") {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"infracollection/alices: deleted; its objects stay at first", "infra/web: deleted", "infra/alices: deleted",
		"computecontract/alone: deleted", "waits for ", "infra-web-front (Held)",
	} {
		if !strings.Contains(all+out, want) {
			t.Errorf("it didn't say %q:\n%s", want, all+out)
		}
	}
	if left := s.versions("goes"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if out, err = s.run(release.Options{}); err != nil || out != "workspace goes: no objects\n" {
		t.Errorf("again: %v\n%s", err, out)
	}
	if after := s.versions("default"); !maps.Equal(after, others) {
		t.Errorf("another workspace has %v, had %v", after, others)
	}
	s.startPDS()
	if after := s.records(); !slices.Equal(after, records) {
		t.Errorf("records %q, were %q", after, records)
	}
}

// refuses: what can't be told to be gone is released by force alone; the server's own
// workspace, and what is no workspace, never.
func (s *site) refuses() {
	s.Helper()
	s.kcp.Shard(0).Bind("quiet", true) // else the controller says so, as soon as it has looked for long enough
	s.credentials("quiet", "bob")
	s.repo("quiet", s.bobs())
	if _, err := s.run(release.Options{Workspace: "quiet"}); !errors.Is(err, release.ErrNotGone) {
		s.Errorf("nothing says that it is gone: %v", err)
	}
	if _, err := s.in("quiet").Infras().Create(s.Context(), &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
	if _, err := s.run(release.Options{Workspace: "quiet"}); !errors.Is(err, release.ErrNotGone) {
		s.Errorf("it has an Infra that doesn't say so: %v", err)
	}
	if _, err := s.run(release.Options{Workspace: "quiet", Force: true, Timeout: 2 * time.Minute}); err != nil {
		s.Errorf("by force: %v", err)
	}
	if all := s.records(); !slices.Contains(all, s.bob.Handle+"/computer.socialweb.infra/kept") {
		s.Errorf("records %q", all)
	}
	server, err := release.NewServer(s.dev.Config)
	if err != nil {
		s.Fatal(err)
	}
	before := s.versions("*")
	for _, ws := range []string{"default", "*", "", "a/b", "A", "..", "x.y"} {
		if err := release.Run(s.Context(), release.Options{Server: server, Workspace: ws, Force: true, Out: &testbinary.Buffer{}}); err == nil {
			s.Errorf("%q was accepted", ws)
		}
	}
	if after := s.versions("*"); !maps.Equal(after, before) {
		s.Errorf("%v, was %v", after, before)
	}
}

// listed: the workspaces are listed with what they have.
func (s *site) listed() {
	s.Helper()
	server, err := release.NewServer(s.dev.Config)
	if err != nil {
		s.Fatal(err)
	}
	all, err := server.Workspaces(s.Context())
	if err != nil || len(all) != 2 || all[0].Name != "default" || all[1].Name != "goes" {
		s.Fatalf("%+v, %v", all, err)
	}
	own, goes := all[0], all[1]
	if own.Gone() || own.Flagged != 0 || own.Objects["infras"] != 1 || own.Objects["atprotorepos"] != 1 {
		s.Errorf("its own: %+v", own)
	}
	if !goes.Gone() || goes.Telling != 6 || goes.Objects["infras"] != 3 || goes.Objects["ephemeralinfras"] != 1 ||
		goes.Objects["infracollections"] != 1 || goes.Objects["computecontracts"] != 2 || goes.Objects["atprotorepos"] != 2 {
		s.Errorf("the other: %+v", goes)
	}
}

// credentials of an account in a workspace.
func (s *site) credentials(ws, name string) {
	s.Helper()
	dir := filepath.Join(s.data, "credentials", ws, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		s.Fatal(err)
	}
	for file, text := range map[string]string{"identifier": s.bob.DID, "password": s.bob.Password, "pds": s.pds.URL} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			s.Fatal(err)
		}
	}
}
