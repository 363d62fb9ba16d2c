package repostore

import (
	"k8s.io/apiserver/pkg/storage"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

var withPrefix = clientv3.WithPrefix()

// checkOp holds one request against what it was told.
func (s *schedule) checkOp(o *schedOp, states []viewState) {
	switch {
	case o.kind == "get" || o.kind == "list":
		s.checkRead(o)
		return
	case o.kind == "delete":
		s.checkDelete(o)
		return
	case o.kind == "publish" || o.kind == "sweep" || o.kind == "finalize" || isBinding[o.kind]:
		return
	}
	first, inRecord := -1, s.inRecord(o)
	for i, v := range states {
		if v.obj == nil {
			continue
		}
		has := v.obj.Labels[o.id] != ""
		if has && first < 0 {
			first = i
		}
		if o.public && o.labels && v.obj.Spec.Items[o.id] != "" && !has && o.kind != "create" && !s.excused(o, v) {
			s.violation("%s is torn at revision %d: its declaration shows without its private part", o, v.revision)
		}
	}
	acked := o.done && o.err == nil
	switch {
	case o.done && definite(o.err) && (first >= 0 || inRecord):
		s.violation("%s was refused and took effect", o)
	case acked && o.public && o.kind != "create" && !inRecord && !s.plan.bindings: // it may have been private then
		s.violation("%s was acknowledged and never reached the record", o)
	case acked && o.labels && first < 0:
		s.violation("%s was acknowledged and its private part never came", o)
	}
	if !acked || !o.labels || first < 0 {
		return
	}
	if o.kind == "create" && o.id != "init" && !s.committed(o.id) {
		s.violation("%s was acknowledged as the creation of a record that others made", o)
	}
	if o.kind == "create" && string(states[first].obj.UID) != "uid-"+o.id {
		s.violation("%s was acknowledged with another's uid %s", o, states[first].obj.UID)
	}
	if o.pre != 0 && (first == 0 || states[first-1].revision != o.pre) {
		s.violation("%s was applied over another version than it demanded", o)
	}
	if o.obj != nil && o.obj.Labels[o.id] == "" {
		s.violation("%s was answered with an object that lacks it", o)
	}
	uid := states[first].obj.UID
	for _, v := range states[first:] {
		if v.obj != nil && v.obj.UID == uid && v.obj.Labels[o.id] == "" {
			s.violation("%s was acknowledged, and lost at revision %d", o, v.revision)
			return
		}
	}
}

// inRecord tells whether the record ever held the item of a write.
func (s *schedule) inRecord(o *schedOp) bool {
	if !o.public {
		return false
	}
	for _, c := range s.repo.history() {
		items, _ := decodeRecord(c.bytes)["items"].(map[string]any)
		if items[o.id] != nil {
			return true
		}
	}
	return false
}

// excused tells whether a put arrived after its writer had given it up, when the
// record had been changed, and changed back, since: then its bytes are not taken for
// the writer's, and its private part is lost, which the writer was not promised. So
// it is where an edit came over the put before anybody had seen it: a record that
// is neither base nor target settles the intent by the stream's word, or drops it;
// of a put whose writer died it is the same.
func (s *schedule) excused(o *schedOp, torn viewState) bool {
	for i, c := range s.repo.history() {
		if c.by == o.id && !o.done && torn.stamp.Rev > c.rev {
			return true
		}
		if c.by == o.id && c.late {
			return i > o.ended.commits || torn.stamp.Rev > c.rev
		}
	}
	return false
}

// committed tells whether a writer's put was a commit.
func (s *schedule) committed(by string) bool {
	for _, c := range s.repo.history() {
		if c.by == by {
			return true
		}
	}
	return false
}

// checkDelete: while an acknowledged deletion was made, the object was gone for a
// moment at least, and so was the record.
func (s *schedule) checkDelete(o *schedOp) {
	if !o.done || o.err != nil {
		return
	}
	commits, gone := s.repo.history(), false
	there := false
	for i, c := range commits {
		if c.key == recordKey("o") {
			there = c.cid != ""
		}
		gone = gone || !there && i+1 >= o.began.commits && i < o.ended.commits
	}
	if !gone && !s.plan.bindings { // a private object may have none
		s.violation("%s was acknowledged and the record was never gone", o)
	}
	last, shown := false, false
	n := 0
	for _, c := range s.history {
		n++
		if c.name == "o" {
			last = c.value != nil
		}
		shown = shown || !last && n >= o.began.states && n <= o.ended.states
	}
	if !shown {
		s.violation("%s was acknowledged and the object was never gone", o)
	}
}

// checkRead: a consistent read shows what the record was at some moment of the
// read, never anything older, and never takes an outage for absence.
func (s *schedule) checkRead(o *schedOp) {
	if !o.done {
		return
	}
	if o.err != nil && !storage.IsNotFound(o.err) {
		if s.plan.faults == 0 && !apierrors.IsTimeout(o.err) && s.restarts == 0 {
			s.violation("%s: a read fails", o)
		}
		return
	}
	var obj *widget
	if o.err == nil {
		obj = o.obj
	}
	commits := s.repo.history()
	key := recordKey("o")
	var rec map[string]any
	ok := obj == nil && o.began.commits == 0
	for i := 0; i <= len(commits) && i <= o.ended.commits && !ok; i++ {
		if i > 0 && commits[i-1].key == key {
			rec = decodeRecord(commits[i-1].bytes)
		}
		if i < o.began.commits {
			continue
		}
		switch {
		case s.plan.bindings && (obj == nil || obj.Status.Record == nil):
			ok = true // private, or its record is detached
		case obj == nil:
			ok = rec == nil || s.plan.collection == 1 // there may have been no room
		case obj.DeletionTimestamp != nil && rec == nil, obj.DeletionTimestamp != nil && s.plan.finalizer:
			ok = true // frozen
		case rec != nil && !valid(rec):
			ok = true // its last valid declaration
		default:
			ok = rec != nil && declares(obj, rec)
		}
	}
	if !ok {
		s.violation("%s shows a state older than the read (%d to %d)", o, o.began.commits, o.ended.commits)
	}
	for _, w := range s.ops {
		if obj != nil && w.done && w.err == nil && w.labels && w.ended.states <= o.began.states && w.obj != nil && w.obj.UID == obj.UID && obj.Labels[w.id] == "" {
			s.violation("%s lacks what %s wrote before", o, w)
		}
	}
}
