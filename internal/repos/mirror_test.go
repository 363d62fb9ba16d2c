package repos

import (
	"reflect"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

func named(ws, name string) *v1alpha1.AtprotoRepo {
	return &v1alpha1.AtprotoRepo{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{repostore.ClusterAnnotation: ws}}}
}

// AtprotoRepos of one name in two workspaces are two, and each change is told.
func TestMirror(t *testing.T) {
	var changed, listed []key
	m := newMirror(func(k key) { changed = append(changed, k) }, func(ks []key) { listed = ks })
	told := func(want ...key) {
		t.Helper()
		slices.SortFunc(changed, compare)
		if !reflect.DeepEqual(changed, want) {
			t.Errorf("changed %v, want %v", changed, want)
		}
		changed = nil
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(m.Replace([]any{named("w1", "a"), named("w2", "a")}, "1"))
	told(key{"w1", "a"}, key{"w2", "a"})
	if len(listed) != 2 {
		t.Errorf("listed %v", listed)
	}
	do(m.Add(named("w1", "b")))
	told(key{"w1", "b"})
	changedRepo := named("w2", "a")
	changedRepo.Generation = 2
	do(m.Update(changedRepo))
	told(key{"w2", "a"})
	if a, b := m.get(key{"w1", "a"}), m.get(key{"w2", "a"}); a == nil || a.Generation != 0 || b == nil || b.Generation != 2 {
		t.Errorf("%v and %v", a, b)
	}
	do(m.Delete(named("w1", "a")))
	told(key{"w1", "a"})
	if m.get(key{"w1", "a"}) != nil || m.get(key{"w2", "a"}) == nil {
		t.Error("a deletion in one workspace went to another")
	}
	do(m.Replace([]any{named("w3", "c")}, "9"))
	told(key{"w1", "b"}, key{"w2", "a"}, key{"w3", "c"})
	if m.get(key{"w1", "b"}) != nil {
		t.Error("what a listing lacks is still there")
	}
}

func compare(a, b key) int {
	switch {
	case a.cacheKey() < b.cacheKey():
		return -1
	case a.cacheKey() > b.cacheKey():
		return 1
	}
	return 0
}
