package repostore

import (
	"context"
	"math"
	"path"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Collections in schedules: the repository is not the default, its records appear by
// a collection. Object o may be created by the API too, and is no child then.

// full tells whether the collection, or the workspace, has no room now.
func (s *schedule) full() bool {
	n := 0
	for _, name := range []string{"o", "p"} {
		if obj, _ := s.replicas[0].shown(name); obj != nil {
			n++
		}
	}
	most := s.plan.collection
	if s.plan.room > 0 && (most == 0 || s.plan.room < most) {
		most = s.plan.room
	}
	return most > 0 && n >= most
}

// schedRoom bounds a schedule's workspace exactly, over both replicas.
type schedRoom struct {
	*sched
	most int
}

// usedLocked counts the objects that are there and those that are being made.
func (r *schedRoom) usedLocked(but string) int {
	there := map[string]bool{}
	for _, c := range r.history {
		there[c.name] = c.value != nil
	}
	for name, n := range r.taking {
		there[name] = there[name] || n > 0
	}
	there[but], there[""] = false, false
	n := 0
	for _, is := range there {
		if is {
			n++
		}
	}
	return n
}

// Free implements Room.
func (r *schedRoom) Free(context.Context, string) (int, int64, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(0, r.most-r.usedLocked("")), math.MaxInt64, true, nil
}

// Take implements Room.
func (r *schedRoom) Take(_ context.Context, key string, _ int) (func(int64), bool, error) {
	name := path.Base(key)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.usedLocked(name) >= r.most {
		return nil, false, nil
	}
	if r.taking == nil {
		r.taking = map[string]int{}
	}
	r.taking[name]++
	return func(int64) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.taking[name]--
	}, true, nil
}

// checkChildren: what came from a record alone is the collection's, from its first
// state on, and nothing else is; no child was made where there was no room.
func (s *schedule) checkChildren() {
	there := map[string]bool{}
	for _, c := range s.history {
		if c.value == nil {
			delete(there, c.name)
			continue
		}
		before := there[c.name]
		there[c.name] = true
		_, b, err := openStamp(c.value)
		if err != nil || before {
			continue
		}
		obj, err := runtime.Decode(widgetCodec, b)
		if err != nil {
			continue // checkStates tells
		}
		w := obj.(*widget)
		owner, created := metav1.GetControllerOf(w), strings.HasPrefix(string(w.UID), "uid-")
		if s.plan.room > 0 && !created && len(there) > s.plan.room {
			s.violation("%s appeared where the workspace had no room", c.name)
		}
		switch {
		case s.plan.collection == 0 || created:
			if owner != nil {
				s.violation("%s was created by the API and is the child of %s", c.name, owner.Name)
			}
		case owner == nil || owner.UID != s.collection.Owner.UID || w.Labels[s.collection.Label] == "":
			s.violation("%s appeared and is nobody's child", c.name)
		case len(there) > s.plan.collection:
			s.violation("%s appeared where there was no room", c.name)
		}
	}
}
