package repos_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/testdev"
	"socialweb.computer/infra-apiserver/internal/testpds"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
)

// world is a server on a PDS with three accounts; the first is the default
// AtprotoRepo's.
type world struct {
	*testdev.Dev
	pds   *testpds.Server
	dir   string
	repos typed.AtprotoRepoInterface
}

func start(t *testing.T) *world {
	t.Helper()
	w := &world{pds: testpds.StartDev(t, testpds.Options{Accounts: []string{"alice", "bob", "carol"}}), dir: t.TempDir()}
	w.Dev = testdev.Start(t, testdev.Options{DataDir: w.dir, PDS: w.pds})
	w.repos = w.Client.SocialwebV1alpha1().AtprotoRepos()
	return w
}

func (w *world) create(t *testing.T, name string, spec v1alpha1.AtprotoRepoSpec) {
	t.Helper()
	if _, err := w.repos.Create(t.Context(), &v1alpha1.AtprotoRepo{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// credentials leaves credentials where the server looks for them, with the PDS
// that they may be used at, if there is one.
func (w *world) credentials(t *testing.T, name, identifier, password string, pds ...string) *v1alpha1.CredentialsReference {
	t.Helper()
	dir := filepath.Join(w.dir, "credentials", "default", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{"identifier": identifier, "password": password, "pds": strings.Join(pds, "")} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &v1alpha1.CredentialsReference{Name: name}
}

// until polls an AtprotoRepo until ok is content.
func (w *world) until(t *testing.T, name string, ok func(*v1alpha1.AtprotoRepo) bool) *v1alpha1.AtprotoRepo {
	t.Helper()
	var r *v1alpha1.AtprotoRepo
	eventually(t, func() string {
		var err error
		if r, err = w.repos.Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			return err.Error()
		}
		if !ok(r) {
			return fmt.Sprintf("%s stays at %+v", name, r.Status)
		}
		return ""
	})
	return r
}

// has waits for a condition's status and reason.
func has(kind string, status metav1.ConditionStatus, reason string) func(*v1alpha1.AtprotoRepo) bool {
	return func(r *v1alpha1.AtprotoRepo) bool {
		c := meta.FindStatusCondition(r.Status.Conditions, kind)
		return c != nil && c.Status == status && c.Reason == reason && c.ObservedGeneration == r.Generation
	}
}

// What an AtprotoRepo may do follows from its credentials, whenever they come.
func TestAccessFollowsCredentials(t *testing.T) {
	w := start(t)
	bob := w.pds.Accounts[1]
	spec := v1alpha1.AtprotoRepoSpec{DID: bob.DID}
	w.create(t, "bob", spec)
	r := w.until(t, "bob", has(v1alpha1.ConditionReady, metav1.ConditionFalse, "NotAuthorized"))
	if r.Status.Access != v1alpha1.AccessRead || !has(v1alpha1.ConditionAuthorized, metav1.ConditionFalse, "NoCredentials")(r) {
		t.Errorf("without credentials: %+v", r.Status)
	}
	if r.Status.PDS != w.pds.URL || r.Status.Handle != bob.Handle || r.Status.DID != bob.DID {
		t.Errorf("resolved to %+v", r.Status)
	}
	set := func(change func(*v1alpha1.AtprotoRepoSpec)) {
		t.Helper()
		for {
			r, err := w.repos.Get(t.Context(), "bob", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			change(&r.Spec)
			if _, err = w.repos.Update(t.Context(), r, metav1.UpdateOptions{}); err == nil {
				return
			}
			if !apierrors.IsConflict(err) {
				t.Fatal(err)
			}
		}
	}
	set(func(s *v1alpha1.AtprotoRepoSpec) { s.Access = v1alpha1.AccessRead })
	r = w.until(t, "bob", has(v1alpha1.ConditionReady, metav1.ConditionTrue, "Serving"))
	if meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionAuthorized) != nil {
		t.Errorf("a repository that is read only needs authorization: %+v", r.Status)
	}
	ready := func(r *v1alpha1.AtprotoRepo) string {
		return meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionReady).Message
	}
	alice := w.pds.Accounts[0].Handle
	set(func(s *v1alpha1.AtprotoRepoSpec) { s.Handle = alice })
	r = w.until(t, "bob", func(r *v1alpha1.AtprotoRepo) bool { return strings.Contains(ready(r), "spec.handle is "+alice) })
	if !has(v1alpha1.ConditionReady, metav1.ConditionTrue, "Serving")(r) || !strings.Contains(ready(r), bob.DID+" names "+bob.Handle) || r.Status.DID != bob.DID {
		t.Errorf("with another's handle: %+v", r.Status)
	}
	set(func(s *v1alpha1.AtprotoRepoSpec) { s.Handle = bob.Handle })
	w.until(t, "bob", func(r *v1alpha1.AtprotoRepo) bool { return ready(r) == "" })
	set(func(s *v1alpha1.AtprotoRepoSpec) {
		s.Access, s.CredentialsRef = v1alpha1.AccessReadWrite, w.credentials(t, "bob", bob.DID, "wrong")
	})
	r = w.until(t, "bob", has(v1alpha1.ConditionAuthorized, metav1.ConditionFalse, "Refused"))
	if strings.Contains(fmt.Sprint(r.Status), "wrong") {
		t.Error("the status holds the password")
	}
	w.credentials(t, "bob", bob.DID, bob.Password)
	r = w.until(t, "bob", has(v1alpha1.ConditionReady, metav1.ConditionTrue, "Serving"))
	if r.Status.Access != v1alpha1.AccessReadWrite || !has(v1alpha1.ConditionSwapSupported, metav1.ConditionTrue, "Honoured")(r) {
		t.Errorf("with credentials: %+v", r.Status)
	}
	set(func(s *v1alpha1.AtprotoRepoSpec) { s.CredentialsRef.Name = "default" })
	w.until(t, "bob", has(v1alpha1.ConditionAuthorized, metav1.ConditionFalse, "Refused")) // alice's
	set(func(s *v1alpha1.AtprotoRepoSpec) { s.Access = v1alpha1.AccessNone })
	w.until(t, "bob", has(v1alpha1.ConditionReady, metav1.ConditionFalse, "AccessWithdrawn"))
}

// A PDS that ignores swapRecord is never written to, and nothing of the probe
// stays behind.
func TestPDSThatIgnoresTheSwap(t *testing.T) {
	w := start(t)
	carol := w.pds.Accounts[2]
	deaf := ignoringSwap(t, w.pds.URL)
	w.create(t, "carol", v1alpha1.AtprotoRepoSpec{DID: carol.DID, PDS: deaf, CredentialsRef: w.credentials(t, "carol", carol.DID, carol.Password, deaf)})
	r := w.until(t, "carol", has(v1alpha1.ConditionReady, metav1.ConditionFalse, "SwapNotSupported"))
	if r.Status.Access != v1alpha1.AccessRead {
		t.Errorf("access %s", r.Status.Access)
	}
	client, err := atproto.Login(t.Context(), w.pds.URL, atproto.Credentials{Identifier: carol.DID, Password: carol.Password},
		atproto.LoginOptions{AllowPrivate: true, TrustPDS: true})
	if err != nil {
		t.Fatal(err)
	}
	if left, _, err := client.ListRecords(t.Context(), "computer.socialweb.probe", "", 10); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	infra := &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	infra.Spec.Record = &v1alpha1.RecordBinding{RepoRef: v1alpha1.RepoReference{Name: "carol"}}
	if _, err := w.Client.SocialwebV1alpha1().Infras().Create(t.Context(), infra, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a creation in it: %v", err)
	}
}

// ignoringSwap is a PDS before pds that forgets every swapRecord.
func ignoringSwap(t *testing.T, pds string) string {
	t.Helper()
	target, err := url.Parse(pds)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "putRecord") {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			var in map[string]any
			if json.Unmarshal(body, &in) == nil {
				delete(in, "swapRecord")
				if b, err := json.Marshal(in); err == nil {
					body = b
				}
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// An AtprotoRepo stays while objects are bound to it, and says which.
func TestAtprotoRepoInUse(t *testing.T) {
	w := start(t)
	infras := w.Client.SocialwebV1alpha1().Infras()
	for _, name := range []string{"one", "two"} {
		if _, err := infras.Create(t.Context(), &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.repos.Delete(t.Context(), "default", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r := w.until(t, "default", has(v1alpha1.ConditionInUse, metav1.ConditionTrue, "Bound"))
	if c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionInUse); c.Message != "infra/one, infra/two" {
		t.Errorf("users: %q", c.Message)
	}
	// It serves as before.
	if _, err := infras.Get(t.Context(), "one", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := infras.Create(t.Context(), &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: "three"}}, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "being deleted") {
		t.Errorf("another creation in it: %v", err)
	}
	for _, name := range []string{"one", "two"} {
		if err := infras.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 1200 {
		_, err := w.repos.Get(t.Context(), "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("it stays without users")
}

// An account that can't be found is told, and keeps nobody else from being served.
func TestAccountThatCantBeFound(t *testing.T) {
	w := start(t)
	w.create(t, "lost", v1alpha1.AtprotoRepoSpec{DID: "did:plc:ewvi7nxzyoun6zhxrhs64oiz"})
	w.until(t, "lost", has(v1alpha1.ConditionReachable, metav1.ConditionFalse, "NotResolved"))
	if _, err := w.Client.SocialwebV1alpha1().Infras().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("the workspace's objects: %v", err)
	}
	if err := w.repos.Delete(t.Context(), "lost", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 1200 {
		if _, err := w.repos.Get(t.Context(), "lost", metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("it can't be deleted")
}
