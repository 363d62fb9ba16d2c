package repostore

import (
	"context"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// A GET asks for the record that the object had when it was last read. Where the
// view turns out to have none now, the question is given up: a PDS that hangs
// holds up nobody who doesn't need it.
func TestGetGivesUpAQuestionThatNobodyNeeds(t *testing.T) {
	r := held(t)
	if _, err := r.get(r.ctx(), "o"); err != nil { // its record is known from now on
		t.Fatal(err)
	}
	r.repo.foreign(recordKey("o"), nil)
	r.deliverAll() // the record is gone, a finalizer holds the object
	r.store.records.Add(r.ref("o").key, recordURI{testDID, recordKey("o")})
	asked := false
	r.repo.hook = func(ctx context.Context, call string, _ atproto.Key) memFault {
		if call == "get" {
			asked = true
			<-ctx.Done()
		}
		return memFault{}
	}
	obj, err := r.get(r.ctx(), "o")
	if err != nil || obj.DeletionTimestamp == nil {
		t.Errorf("%+v, %v", obj, err)
	}
	if !asked {
		t.Error("the PDS was not asked ahead")
	}
	if st := r.m().state(); !st.Reachable {
		t.Errorf("a question that was given up counts as an outage: %v", st.Err)
	}
}

// The record's answer counts only with a view that was read in the same request:
// one that another replica changed meanwhile is served as it is now, and a view
// that is behind the record is never served (I7).
func TestGetOfAViewThatOthersChange(t *testing.T) {
	w := newWorld(t)
	a, b := w.replica("A"), w.replica("B")
	if _, err := a.create(a.ctx(), aWidget("o", "base")); err != nil {
		t.Fatal(err)
	}
	for i, read := range []*replica{b, a, b, a} {
		other := a
		if read == a {
			other = b
		}
		label := string(rune('a' + i))
		if _, err := other.label(other.ctx(), "o", label); err != nil {
			t.Fatal(err)
		}
		if obj, err := read.get(read.ctx(), "o"); err != nil || !hasLabels(obj, label) {
			t.Errorf("%s read %v, %v", read.name, obj.Labels, err)
		}
		text := "edit " + label
		w.repo.foreign(recordKey("o"), widgetRecord(text))
		if obj, err := read.get(read.ctx(), "o"); err != nil || obj.Spec.Text != text {
			t.Errorf("%s read %q, %v; want %q", read.name, obj.Spec.Text, err, text)
		}
	}
}

// What a GET hands out is the caller's: nobody else sees what it does to it.
func TestGetHandsOutAnObjectOfItsOwn(t *testing.T) {
	r := alone(t)
	one, err := r.get(r.ctx(), "o")
	if err != nil {
		t.Fatal(err)
	}
	one.Spec.Text, one.Labels = "mine", map[string]string{"mine": ""}
	two, err := r.get(r.ctx(), "o")
	if err != nil || two.Spec.Text != "base" || len(two.Labels) > 0 || two.ResourceVersion != one.ResourceVersion {
		t.Errorf("%+v, %v", two, err)
	}
}

// A view that was lost while its record was asked for is no absence: the workspace
// is brought up, or the read fails.
func TestGetOfAViewThatIsLost(t *testing.T) {
	r := alone(t)
	if _, err := r.get(r.ctx(), "o"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.etcd.Delete(t.Context(), r.prefix+"/views/", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	r.repo.setDown(atproto.ErrUnavailable)
	if obj, err := r.get(r.ctx(), "o"); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("%+v, %v", obj, err)
	}
}
