package repostore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	plaintext "k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// crashChildEnv holds a crashCase, in JSON, in the environment of a child.
const crashChildEnv = "REPOSTORE_CRASH_CASE"

// crashCase is what a child process does, and where it dies.
type crashCase struct {
	Endpoint, Prefix            string // of etcd
	PDS, PLC, Account, Password string
	// Scenario is one of crashScenarios, run on object Name.
	Scenario, Name string
	// Point and Nth name the step at which the process is killed; Point "" lets it
	// live, and print the steps.
	Point string
	Nth   int
}

// runCrashChild is the main function of a child process.
func runCrashChild(spec string) error {
	var c crashCase
	if err := json.Unmarshal([]byte(spec), &c); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(WithWorkspace(context.Background(), "one"), patience)
	defer cancel()
	clk := &jumpClock{}
	if crashScenarios[c.Scenario].late {
		clk.jump(time.Hour)
	}
	r, done, err := c.open(ctx, clk, "child")
	if err != nil {
		return err
	}
	defer done()
	seen := map[string]int{}
	r.hub.failpoint = func(point string) bool {
		seen[point]++
		if c.Point == "" {
			fmt.Println("step", point, seen[point])
		} else if point == c.Point && seen[point] == c.Nth {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal is on its way
		}
		return false
	}
	if err := crashScenarios[c.Scenario].act(ctx, r, c.Name); err != nil {
		return err
	}
	fmt.Println("acknowledged")
	return nil
}

// open makes a replica over etcd and the PDS of the case.
func (c crashCase) open(ctx context.Context, clk clock.WithTicker, name string) (*replica, func(), error) {
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{c.Endpoint}, DialTimeout: 10 * time.Second})
	if err != nil {
		return nil, nil, err
	}
	http := atproto.NewHTTPClient(true)
	done := func() {
		http.CloseIdleConnections()
		_ = etcd.Close() // the process, or the test, is over
	}
	repo, err := atproto.Login(ctx, c.PDS, atproto.Credentials{Identifier: c.Account, Password: c.Password}, atproto.LoginOptions{HTTP: http, PLCURL: c.PLC, Timeout: putTimeout})
	if err != nil {
		done()
		return nil, nil, err
	}
	raw, err := rawWidgets(etcd, c.Prefix)
	if err != nil {
		done()
		return nil, nil, err
	}
	w := &world{prefix: c.Prefix, ws: "one", etcd: etcd}
	r := &replica{world: w, name: name, hub: NewHub(HubConfig{
		Etcd: etcd, Prefix: c.Prefix, Clock: clk, Replica: name, IntentTerm: intentTerm, PutTimeout: putTimeout,
	})}
	r.store = newStore(r.hub, storeConfig{
		raw: raw, mapper: w.mapper, resource: widgetResource, resourcePrefix: testPrefix,
		codec: widgetCodec, transformer: plaintext.NewEncryptCheckTransformer(), annotated: true,
	})
	r.hub.SetRepo(MountedRepo{Workspace: w.ws, Name: testRepo, Repo: repo, Default: true, Access: AccessReadWrite})
	r.hub.SetMountsLoaded()
	return r, done, nil
}

// crashScenario is one operation that a process dies in.
type crashScenario struct {
	// before prepares, and is acknowledged; act is the operation.
	before, act func(ctx context.Context, r *replica, name string) error
	// late: act comes after the term of what before left open.
	late bool
	// whole tells whether all of act is there, nothing whether none of it is.
	whole, nothing func(obj *widget, record map[string]any) bool
}

func crashCreate(ctx context.Context, r *replica, name string) error {
	w := aWidget(name, "created")
	setLabel(w, "created")
	_, err := r.create(ctx, w)
	return err
}

// foreignPut is an edit that the replica's own client makes behind its back.
func foreignPut(text string) func(ctx context.Context, r *replica, name string) error {
	return func(ctx context.Context, r *replica, name string) error {
		_, err := r.m().Repo.PutRecord(ctx, recordKey(name), widgetRecord(text), atproto.Swap{Any: true})
		return err
	}
}

func foreignDelete(ctx context.Context, r *replica, name string) error {
	_, err := r.m().Repo.DeleteRecord(ctx, recordKey(name), atproto.Swap{Any: true})
	return err
}

// dying is an operation that ends at a failpoint and leaves what it has begun.
func dying(point string, act func(ctx context.Context, r *replica, name string) error) func(ctx context.Context, r *replica, name string) error {
	return func(ctx context.Context, r *replica, name string) error {
		defer func(was func(string) bool) {
			r.hub.failpoint = was
			_ = recover()
		}(r.hub.failpoint)
		r.hub.failpoint = func(p string) bool {
			if p == point {
				panic("dead at " + p)
			}
			return false
		}
		return errors.Join(act(ctx, r, name), errors.New("it did not die"))
	}
}

func sweepOnce(ctx context.Context, r *replica, _ string) error {
	r.hub.sweep(ctx, atOnce)
	return nil
}

func listOnce(ctx context.Context, r *replica, _ string) error {
	_, err := r.list(ctx)
	return err
}

func inOrder(steps ...func(ctx context.Context, r *replica, name string) error) func(ctx context.Context, r *replica, name string) error {
	return func(ctx context.Context, r *replica, name string) error {
		for _, f := range steps {
			if err := f(ctx, r, name); err != nil {
				return err
			}
		}
		return nil
	}
}
