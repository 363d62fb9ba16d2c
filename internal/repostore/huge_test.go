package repostore

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// A record that is too large for etcd is invalid, and no outage of its
// repository: others list as before. What a record says is clipped where it is
// quoted.
func TestHugeRecords(t *testing.T) {
	r := alone(t)
	r.repo.foreign(recordKey("fine"), widgetRecord("fine"))
	large := widgetRecord("large")
	large["unknown"] = strings.Repeat("\x01", 900_000) // six bytes each in JSON
	r.repo.foreign(recordKey("large"), large)
	r.repo.foreign(recordKey("strange"), map[string]any{"$type": strings.Repeat("x", 900_000), "text": "x"})
	all, err := r.list(r.ctx())
	if err != nil || len(all) != 4 || all["fine"] == nil {
		t.Fatalf("list: %d objects, %v", len(all), err)
	}
	for _, name := range []string{"large", "strange"} {
		c := meta.FindStatusCondition(all[name].Status.Conditions, ConditionRecordValid)
		if c == nil || c.Status != "False" || len(c.Message) > 4096 {
			t.Errorf("%s: %.200v", name, c)
		}
	}
	if _, err := r.update(r.ctx(), "o", "", func(w *widget) error {
		w.Annotations["big"] = strings.Repeat("x", 1_600_000)
		return nil
	}); !apierrors.IsRequestEntityTooLargeError(err) {
		t.Errorf("an object that etcd refuses: %.200v", err)
	}
}
