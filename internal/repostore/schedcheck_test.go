package repostore

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// viewState is one state of an object, decoded.
type viewState struct {
	revision int64
	obj      *widget // nil: deleted
	stamp    stamp
}

// statesOf decodes the history of an object.
func (s *schedule) statesOf(name string) (out []viewState) {
	for _, c := range s.history {
		if c.name != name {
			continue
		}
		v := viewState{revision: c.revision}
		if c.value != nil {
			st, b, err := openStamp(c.value)
			if err != nil {
				s.violation("a view without a stamp: %v", err)
				continue
			}
			obj, err := runtime.Decode(widgetCodec, b)
			if err != nil {
				s.violation("a view that can't be decoded: %v", err)
				continue
			}
			v.obj, v.stamp = obj.(*widget), st
		}
		out = append(out, v)
	}
	return out
}

// check holds the whole run against the invariants.
func (s *schedule) check() {
	for _, name := range []string{"o", "p"} {
		s.checkEnd(name)
		s.checkStates(name, s.statesOf(name))
	}
	s.checkBindings()
	s.checkChildren()
	states := s.statesOf("o")
	for _, o := range s.ops {
		s.checkOp(o, states)
	}
	s.checkCreates(states)
	s.checkOwnPuts()
	for _, area := range []string{"intents"} {
		resp, err := s.etcd.Get(outside, s.prefix+"/"+area+testPrefix+"/"+s.ws+"/", withPrefix)
		if err != nil {
			s.violation("%v", err)
		} else if len(resp.Kvs) > 0 {
			s.violation("an intent outlives its term")
		}
	}
}

// checkEnd: at rest, without anything but the events, the view is the record; and
// a barrier finds nothing to do.
func (s *schedule) checkEnd(name string) {
	for _, step := range []string{"events", "a barrier"} {
		if step == "a barrier" {
			for _, r := range s.replicas {
				if _, err := r.list(r.actx("end")); err != nil {
					s.violation("a list at rest fails: %v", err)
				}
			}
		}
		if step == "events" && s.dropped {
			continue // nothing tells of the last ones
		}
		obj, st := s.replicas[0].shown(name)
		rec := s.repo.value(recordKey(name))
		if s.plan.bindings && (obj == nil || !st.bound()) {
			continue // see checkBindings
		}
		switch {
		case obj == nil && rec != nil && s.full():
		case obj == nil && rec != nil:
			s.violation("after %s: %s has a record and no view", step, name)
		case obj != nil && rec == nil && !st.orphaned():
			s.violation("after %s: %s is a phantom, its record is gone", step, name)
		case obj != nil && rec != nil && st.orphaned(): // re-created, served after its finalizers
		case obj != nil && rec != nil && st.Invalid == "" && !declares(obj, rec):
			s.violation("after %s: %s shows something else than its record", step, name)
		case obj != nil && rec != nil && st.Invalid != "" && valid(rec):
			s.violation("after %s: %s is marked invalid and its record is not", step, name)
		}
	}
}

func valid(rec map[string]any) bool {
	_, err := widgetMapper{}.Decode(rec, &widget{})
	return err == nil
}

// declares tells whether the object's declaration is the record's.
func declares(w *widget, rec map[string]any) bool {
	c := &widget{}
	if _, err := (widgetMapper{}).Decode(rec, c); err != nil {
		return false
	}
	return c.Spec.Text == w.Spec.Text && fmt.Sprint(c.Spec.Items) == fmt.Sprint(w.Spec.Items)
}

// lifetime counts the creations of a record up to a rev.
func (s *schedule) lifetime(key atproto.Key, rev string) int {
	n, there := 0, false
	for _, c := range s.repo.history() {
		if c.key != key || c.rev > rev {
			continue
		}
		if c.cid != "" && !there {
			n++
		}
		there = c.cid != ""
	}
	return n
}

func (s *schedule) recordWith(cid string) map[string]any {
	for _, c := range s.repo.history() {
		if c.cid == cid {
			return decodeRecord(c.bytes)
		}
	}
	return nil
}

// checkStates: every state tells the truth about the record, revs never go back,
// the uid changes with the record's lifetime alone, the generation counts.
func (s *schedule) checkStates(name string, states []viewState) {
	key := recordKey(name)
	var last *viewState // that existed
	gone := true
	for i := range states {
		v := &states[i]
		if v.obj == nil {
			gone = true
			continue
		}
		if got := s.repo.cidAt(key, v.stamp.Rev); got != v.stamp.CID {
			s.violation("%s at revision %d is stamped %.12s at rev %s, where the record was %.12s", name, v.revision, tail(v.stamp.CID), v.stamp.Rev, tail(got))
		}
		if v.stamp.CID != "" && v.stamp.Invalid == "" && !declares(v.obj, s.recordWith(v.stamp.CID)) {
			s.violation("%s at revision %d is not what its CID holds", name, v.revision)
		}
		if last != nil {
			s.checkNext(name, *last, *v, gone)
		}
		last, gone = v, false
	}
}

func (s *schedule) checkNext(name string, a, b viewState, gone bool) {
	key := recordKey(name)
	switch {
	case b.stamp.Rev < a.stamp.Rev && b.stamp.bound():
		s.violation("%s: the rev went back from %s to %s", name, a.stamp.Rev, b.stamp.Rev)
	case gone && a.obj.UID == b.obj.UID:
		s.violation("%s: an object came again with its old uid", name)
	case gone && a.stamp.CID != "" && s.lifetime(key, b.stamp.Rev) <= s.lifetime(key, a.stamp.Rev):
		s.violation("%s: a second uid in one lifetime of the record", name)
	case !gone && a.obj.UID != b.obj.UID:
		s.violation("%s: the uid changed in place", name)
	}
	if gone {
		if b.obj.Generation != 1 {
			s.violation("%s: a new object begins with generation %d", name, b.obj.Generation)
		}
		return
	}
	want := int64(0)
	if specChanged(a.obj, b.obj) || (a.obj.DeletionTimestamp == nil) != (b.obj.DeletionTimestamp == nil) {
		want = 1
	}
	got := b.obj.Generation - a.obj.Generation
	if under(a, b) && got == 2 {
		return // the write's, and the edit's over it
	}
	if got != want {
		s.violation("%s: the generation moved by %d where %d is right", name, got, want)
	}
}

// under tells whether b is what a write made of a under an edit made elsewhere since,
// in one step: see outrun.go.
func under(a, b viewState) bool {
	return b.stamp.Nonce == "" && len(b.stamp.Earlier) > 0 && !a.stamp.made(b.stamp.Earlier[0])
}

func tail(cid string) string { return cid[max(0, len(cid)-12):] }

// checkCreates: no two creations are acknowledged in one lifetime of the record.
func (s *schedule) checkCreates(states []viewState) {
	seen := map[int]string{}
	for _, o := range s.ops {
		if o.kind != "create" || !o.done || o.err != nil {
			continue
		}
		for _, v := range states {
			if v.obj == nil || string(v.obj.UID) != "uid-"+o.id {
				continue
			}
			n := s.lifetime(recordKey("o"), v.stamp.Rev)
			if seen[n] != "" {
				s.violation("%s and %s are both acknowledged as the creation of one record", seen[n], o.id)
			}
			seen[n] = o.id
			break
		}
	}
}

// checkOwnPuts: our own puts drop nothing that the record had.
func (s *schedule) checkOwnPuts() {
	items := map[string]any{}
	for _, c := range s.repo.history() {
		if c.key != recordKey("o") {
			continue
		}
		now, _ := decodeRecord(c.bytes)["items"].(map[string]any)
		for k := range items {
			if c.by != foreigner && c.cid != "" && now[k] == nil {
				s.violation("a put of %s lost item %q of the record", c.by, k)
			}
		}
		items = now
	}
}

// definite tells whether an error says that nothing was written.
func definite(err error) bool {
	return err != nil && !apierrors.IsTimeout(err)
}
