package repostore

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Collections in schedules: the repository is not the default, its records appear by
// a collection. Object o may be created by the API too, and is no child then.

// full tells whether the collection has no room now.
func (s *schedule) full() bool {
	n := 0
	for _, name := range []string{"o", "p"} {
		if obj, _ := s.replicas[0].shown(name); obj != nil {
			n++
		}
	}
	return s.plan.collection > 0 && n >= s.plan.collection
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
