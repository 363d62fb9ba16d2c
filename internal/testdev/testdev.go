// Package testdev runs dev within a test: the whole server in the test's own
// process, on the embedded PDS or on one that the test started.
package testdev

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/dev"
	"socialweb.computer/infra-apiserver/internal/testbinary"
	"socialweb.computer/infra-apiserver/internal/testpds"
	"socialweb.computer/infra-apiserver/internal/testwait"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/apiserver"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

// startTimeout is for a machine that does everything at once. A start takes half
// a second.
const startTimeout = 2 * time.Minute

// Options of Start. The zero value is dev on its embedded PDS.
type Options struct {
	// DataDir to use; "": one of the test.
	DataDir string
	// PDS to use; nil: the embedded one.
	PDS *testpds.Server
	// Workspaces opens the door /clusters/<workspace>/….
	Workspaces bool
	// KCP says how the server stands behind kcp; nil: the defaults, which keep the door
	// of shards shut.
	KCP *apiserver.KCPOptions
	// Port of the API server; 0: any.
	Port int
	// Controller runs the controller too.
	Controller bool
	// Deadlines is its clock; nil: the real one.
	Deadlines clock.WithTicker
	// PDSAway tells that the PDS doesn't answer: Dev.Repo is nil then.
	PDSAway bool
}

// Dev is a running dev.
type Dev struct {
	dev.Info
	// Config of the admin.
	Config *rest.Config
	// Client of the default workspace.
	Client versioned.Interface
	// Repo is the account's repository at the PDS, past the server.
	Repo *atproto.Client
	// Out is what dev printed.
	Out *testbinary.Buffer

	stop func() error
}

var globals sync.Once

// Start runs dev until the test ends or Stop is called.
func Start(t testing.TB, o Options) *Dev {
	t.Helper()
	globals.Do(func() {
		if err := apiserver.NewOptions().SetGlobals(); err != nil {
			t.Fatal(err)
		}
	})
	do := dev.NewOptions()
	do.Port, do.PDSPort = o.Port, 0
	do.DataDir, do.Workspaces = o.DataDir, o.Workspaces
	if o.KCP != nil {
		do.KCP = o.KCP
	}
	do.Controller, do.Deadlines = o.Controller, o.Deadlines
	if do.DataDir == "" {
		do.DataDir = t.TempDir()
	}
	if o.PDS != nil {
		do.PDS, do.PLC = o.PDS.URL, o.PDS.PLCURL
		do.Identifier = o.PDS.Accounts[0].DID
		do.PasswordFile = filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(do.PasswordFile, []byte(o.PDS.Accounts[0].Password), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := &Dev{Out: &testbinary.Buffer{}}
	do.Out = d.Out
	ready := make(chan dev.Info, 1)
	do.Ready = func(i dev.Info) { ready <- i }

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- dev.Run(ctx, do) }()
	d.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { d.Stop(t) })
	select {
	case d.Info = <-ready:
	case err := <-ended:
		ended <- err
		t.Fatalf("dev did not start: %v\n%s", err, d.Out)
	case <-time.After(startTimeout):
		t.Fatalf("dev did not start within %s\n%s", startTimeout, d.Out)
	}
	d.connect(t)
	if !o.PDSAway {
		d.settle(t)
		d.login(t)
	}
	return d
}

// settle waits for the AtprotoRepo and its objects: dev itself goes on without them after
// ten seconds.
func (d *Dev) settle(t testing.TB) {
	t.Helper()
	api := d.Client.SocialwebV1alpha1()
	testwait.Until(t, "the AtprotoRepo of dev", func() error {
		r, err := api.AtprotoRepos().Get(t.Context(), "default", metav1.GetOptions{})
		if err != nil {
			return err
		}
		ready := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != r.Generation {
			return fmt.Errorf("ready: %+v", ready)
		}
		_, err = api.Infras().List(t.Context(), metav1.ListOptions{Limit: 1})
		return err
	})
}

// Stop ends dev, and fails the test if it didn't end cleanly.
func (d *Dev) Stop(t testing.TB) {
	t.Helper()
	if err := d.stop(); err != nil {
		t.Errorf("dev ended with: %v", err)
	}
}

func (d *Dev) connect(t testing.TB) {
	t.Helper()
	var err error
	if d.Config, err = clientcmd.BuildConfigFromFlags("", d.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	d.Config.QPS, d.Config.Burst = -1, -1 // no limit of the client's own
	if d.Client, err = versioned.NewForConfig(d.Config); err != nil {
		t.Fatal(err)
	}
}

func (d *Dev) login(t testing.TB) {
	t.Helper()
	password, err := os.ReadFile(d.PDS.PasswordFile)
	if err != nil {
		t.Fatal(err)
	}
	creds := atproto.Credentials{Identifier: d.PDS.DID, Password: strings.TrimSpace(string(password))}
	d.Repo, err = atproto.Login(t.Context(), d.PDS.URL, creds, atproto.LoginOptions{AllowPrivate: true, TrustPDS: true})
	if err != nil {
		t.Fatal(err)
	}
}
