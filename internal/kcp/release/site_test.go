package release_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/controller"
	"socialweb.computer/infra-apiserver/internal/kcp/export"
	"socialweb.computer/infra-apiserver/internal/testdev"
	"socialweb.computer/infra-apiserver/internal/testkcp"
	"socialweb.computer/infra-apiserver/internal/testpds"
	"socialweb.computer/infra-apiserver/internal/testwait"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
)

// site is a server behind a kcp, with a controller whose time passes quickly. Alice is the
// account of the server's own workspace, bob that of the workspace "goes".
type site struct {
	*testing.T
	kcp  *testkcp.KCP
	pds  *testpds.Server
	dev  *testdev.Dev
	data string
	bob  testpds.Account
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{T: t, kcp: testkcp.Start(t, 1), data: t.TempDir()}
	s.kcp.Shard(0).Bind("goes", true)
	s.kcp.Shard(0).Bind("stays", true)
	s.pds = testpds.StartDev(t, testpds.Options{Accounts: []string{"alice", "bob"}, DataDir: t.TempDir()})
	s.bob = s.pds.Accounts[1]
	s.dev = testdev.Start(t, testdev.Options{Workspaces: true, PDS: s.pds, DataDir: s.data})
	client, err := export.New(s.kcp.Config, testkcp.Export)
	if err != nil {
		t.Fatal(err)
	}
	clock := testclock.NewFakeClock(time.Now())
	c, err := controller.New(controller.Config{Server: s.dev.Config, Workspaces: true, KCP: client, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended, ticked := make(chan error, 1), make(chan struct{})
	go func() { ended <- c.Run(ctx) }()
	go func() {
		defer close(ticked)
		for ctx.Err() == nil {
			clock.Step(10 * time.Second)
			time.Sleep(20 * time.Millisecond)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ticked
		if err := <-ended; err != nil {
			t.Error(err)
		}
		client.CloseIdle()
	})
	return s
}

// startPDS starts it again where it was.
func (s *site) startPDS() {
	s.Helper()
	s.pds = testpds.StartDev(s.T, testpds.Options{DataDir: s.pds.DataDir, Port: s.pds.Port, Accounts: []string{"alice", "bob"}})
}

func (s *site) in(ws string) typed.SocialwebV1alpha1Interface {
	s.Helper()
	c := rest.CopyConfig(s.dev.Config)
	c.Host += "/clusters/" + ws
	client, err := typed.NewForConfig(c)
	if err != nil {
		s.Fatal(err)
	}
	return client
}

func (s *site) eventually(what string, is func(ctx context.Context) (bool, error)) {
	s.Helper()
	testwait.Until(s, what, func() error {
		ok, err := is(s.Context())
		if err == nil && !ok {
			err = errors.New("not yet")
		}
		return err
	})
}

// populate gives the workspace "goes" one of each: an Infra that is held, an EphemeralInfra
// that is staged, a collection of another's records, and a ComputeContract that nobody owns.
func (s *site) populate() {
	s.Helper()
	ctx, client := s.Context(), s.in("goes")
	s.credentials("goes", "bob")
	mine := &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: "alices"}}
	web := &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	web.Spec.Contracts = []v1alpha1.Contract{{Name: "front", State: v1alpha1.ContractRequested}}
	s.repo("goes", s.bobs())
	s.repo("goes", &v1alpha1.AtprotoRepo{ObjectMeta: metav1.ObjectMeta{Name: "alice"}, Spec: v1alpha1.AtprotoRepoSpec{
		DID: s.pds.Accounts[0].DID, PDS: s.pds.URL, Access: v1alpha1.AccessRead,
	}})
	for _, f := range []func() error{
		func() error {
			_, err := s.in("default").Infras().Create(ctx, mine, metav1.CreateOptions{})
			return err
		},
		func() error {
			c := &v1alpha1.InfraCollection{ObjectMeta: metav1.ObjectMeta{Name: "alices"}, Spec: v1alpha1.InfraCollectionSpec{RepoRef: v1alpha1.RepoReference{Name: "alice"}}}
			_, err := client.InfraCollections().Create(ctx, c, metav1.CreateOptions{})
			return err
		},
		func() error { _, err := client.Infras().Create(ctx, web, metav1.CreateOptions{}); return err },
		func() error {
			job := &v1alpha1.EphemeralInfra{ObjectMeta: metav1.ObjectMeta{Name: "job"}}
			job.Spec.TTLSeconds = ptr.To[int32](300_000_000) // time passes quickly
			_, err := client.EphemeralInfras().Create(ctx, job, metav1.CreateOptions{})
			return err
		},
		func() error {
			_, err := client.ComputeContracts().Create(ctx, &v1alpha1.ComputeContract{ObjectMeta: metav1.ObjectMeta{Name: "alone"}}, metav1.CreateOptions{})
			return err
		},
	} {
		if err := f(); err != nil {
			s.Fatal(err)
		}
	}
	s.eventually("its ComputeContract", func(ctx context.Context) (bool, error) {
		_, err := client.ComputeContracts().Get(ctx, "infra-web-front", metav1.GetOptions{})
		return err == nil, ignoreNotFound(err)
	})
	if _, err := client.ComputeContracts().Patch(ctx, "infra-web-front", types.MergePatchType, []byte(`{"status":{"phase":"Held"}}`), metav1.PatchOptions{}, "status"); err != nil {
		s.Fatal(err)
	}
	s.eventually("all of it", func(ctx context.Context) (bool, error) {
		infra, err := client.Infras().Get(ctx, "web", metav1.GetOptions{})
		if err != nil || infra.Status.Phase != v1alpha1.PhaseDeployed {
			return false, err
		}
		if _, err = client.Infras().Get(ctx, "kept", metav1.GetOptions{}); err != nil {
			return false, ignoreNotFound(err)
		}
		_, err = client.Infras().Get(ctx, "alices", metav1.GetOptions{})
		return err == nil, ignoreNotFound(err)
	})
	s.settle()
}

// bobs is bob's repository as a default one.
func (s *site) bobs() *v1alpha1.AtprotoRepo {
	return &v1alpha1.AtprotoRepo{ObjectMeta: metav1.ObjectMeta{Name: "bob"}, Spec: v1alpha1.AtprotoRepoSpec{
		DID: s.bob.DID, PDS: s.pds.URL, Default: true, CredentialsRef: &v1alpha1.CredentialsReference{Name: "bob"},
	}}
}

// repo makes an AtprotoRepo, and waits until it can be used.
func (s *site) repo(ws string, r *v1alpha1.AtprotoRepo) {
	s.Helper()
	if _, err := s.in(ws).AtprotoRepos().Create(s.Context(), r, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
	s.eventually("AtprotoRepo "+r.Name, func(ctx context.Context) (bool, error) {
		got, err := s.in(ws).AtprotoRepos().Get(ctx, r.Name, metav1.GetOptions{})
		return err == nil && meta.IsStatusConditionTrue(got.Status.Conditions, v1alpha1.ConditionReady), err
	})
}

// settle waits until the controller has looked at what both workspaces have of their own
// accounts, and the records show it: it is left alone then.
func (s *site) settle() {
	s.Helper()
	for i, ws := range []string{"default", "goes"} {
		repo := s.login(s.pds.Accounts[i])
		s.eventually("published", func(ctx context.Context) (bool, error) {
			infras, err := s.in(ws).Infras().List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err
			}
			jobs, err := s.in(ws).EphemeralInfras().List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err
			}
			var all []v1alpha1.InfraStatus
			for i := range infras.Items {
				all = append(all, infras.Items[i].Status)
			}
			for i := range jobs.Items {
				all = append(all, jobs.Items[i].Status.InfraStatus)
			}
			for _, status := range all {
				if shown, err := shows(ctx, repo, status); err != nil || !shown {
					return false, err
				}
			}
			return len(all) > 0, nil
		})
	}
}

// shows tells whether the controller has written a status, and its record says the same, if
// it is of this account.
func shows(ctx context.Context, repo *atproto.Client, status v1alpha1.InfraStatus) (bool, error) {
	if status.Record == nil {
		return true, nil
	}
	key, of := strings.CutPrefix(status.Record.URI, "at://"+repo.DID()+"/")
	if !of || status.Phase == "" {
		return !of, nil
	}
	collection, rkey, _ := strings.Cut(key, "/")
	r, err := repo.GetRecord(ctx, atproto.Key{Collection: collection, RKey: rkey})
	if err != nil {
		return false, err
	}
	public, _ := r.Value["status"].(map[string]any)
	phase, _ := public["phase"].(string)
	return status.Record.Direction == v1alpha1.DirectionInSync && status.Record.CID == r.CID && strings.EqualFold(phase, string(status.Phase)), nil
}

// login opens an account past the server.
func (s *site) login(a testpds.Account) *atproto.Client {
	s.Helper()
	repo, err := atproto.Login(s.Context(), s.pds.URL, atproto.Credentials{Identifier: a.DID, Password: a.Password}, atproto.LoginOptions{AllowPrivate: true, TrustPDS: true})
	if err != nil {
		s.Fatal(err)
	}
	return repo
}

// flagged tells whether all deployments and ComputeContracts of the workspace "goes" say
// that it is gone.
func (s *site) flagged(ctx context.Context) (bool, error) {
	infras, err := s.in("goes").Infras().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return false, err
	}
	jobs, err := s.in("goes").EphemeralInfras().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return false, err
	}
	n := 0
	for i := range infras.Items {
		if meta.IsStatusConditionFalse(infras.Items[i].Status.Conditions, v1alpha1.ConditionWorkspaceBound) {
			n++
		}
	}
	for i := range jobs.Items {
		if meta.IsStatusConditionFalse(jobs.Items[i].Status.Conditions, v1alpha1.ConditionWorkspaceBound) {
			n++
		}
	}
	contracts, err := s.in("goes").ComputeContracts().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return false, err
	}
	for i := range contracts.Items {
		if !meta.IsStatusConditionFalse(contracts.Items[i].Status.Conditions, v1alpha1.ConditionWorkspaceBound) {
			return false, nil
		}
	}
	return n == 4 && len(contracts.Items) > 0, nil
}

// versions of the Infras, EphemeralInfras, collections and ComputeContracts of a workspace,
// and the uids of its AtprotoRepos, whose status goes on.
func (s *site) versions(ws string) map[string]string {
	s.Helper()
	out := map[string]string{}
	// What etcd holds at this moment, also while the PDS is away.
	now, err := s.in(ws).AtprotoRepos().List(s.Context(), metav1.ListOptions{Limit: 1})
	if err != nil {
		s.Fatal(err)
	}
	for _, resource := range []string{"infras", "ephemeralinfras", "infracollections", "computecontracts", "atprotorepos"} {
		body, err := s.in(ws).RESTClient().Get().Resource(resource).Param("resourceVersion", now.ResourceVersion).DoRaw(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		var list metav1.PartialObjectMetadataList
		if err := json.Unmarshal(body, &list); err != nil {
			s.Fatal(err)
		}
		for _, m := range list.Items {
			version := m.ResourceVersion
			if resource == "atprotorepos" || resource == "infracollections" {
				version = string(m.UID)
			}
			out[resource+"/"+m.Annotations["kcp.io/cluster"]+"/"+m.Name] = version
		}
	}
	return out
}

// records of both accounts: where they are and what they declare.
func (s *site) records() []string {
	s.Helper()
	var out []string
	for _, a := range s.pds.Accounts {
		repo := s.login(a)
		for _, collection := range []string{"computer.socialweb.infra", "computer.socialweb.ephemeralInfra"} {
			records, _, err := repo.ListRecords(s.Context(), collection, "", 0)
			if err != nil {
				s.Fatal(err)
			}
			for _, r := range records {
				out = append(out, a.Handle+"/"+collection+"/"+r.RKey)
			}
		}
	}
	slices.Sort(out)
	return out
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
