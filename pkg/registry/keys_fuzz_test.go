package registry

import (
	"path"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"socialweb.computer/infra-apiserver/internal/repostore"
)

// FuzzObjectKeys: two objects have one key only if they are of one workspace and have
// one name; a key lies below its workspace's root and below no other's, whatever the
// names are.
func FuzzObjectKeys(f *testing.F) {
	for _, s := range [][4]string{
		{"w1", "a", "w2", "a"}, {"w1", "a", "w1", "b"}, {"w1", "a", "w1", "a"}, {"w", "1", "w1", ""}, {"w1", "..", "w2", "."}, {"w1", "../w2/a", "w2", "a"}, {"w1", "a/b", "w1", "a%2Fb"},
		{"w1", "a\x00", "w1", "a"}, {"*", "a", "w1", "a"}, {"", "w1", "w1", "w1"}, {"default", "a", "w1", "a"}, {"w1/w2", "a", "w1", "w2/a"}, {"w1-", "a", "w1", "-a"}, {"W1", "a", "w1", "A"},
		{"w1", "infras", "infras", "w1"}, {"w1", "a.b", "w1", "a"}, {"..", "a", ".", "a"}, {"w1", "é", "w1", "e\u0301"}, {strings.Repeat("w", 63), "a", strings.Repeat("w", 64), "a"},
	} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	gr, prefix := schema.GroupResource{Group: "socialweb.computer", Resource: "infras"}, "/infras"
	f.Fuzz(func(t *testing.T, ws1, name1, ws2, name2 string) {
		one, two := repostore.WithWorkspace(t.Context(), ws1), repostore.WithWorkspace(t.Context(), ws2)
		key1, err1 := objectKey(one, gr, prefix, name1)
		key2, err2 := objectKey(two, gr, prefix, name2)
		for _, c := range []struct {
			ws, name, key string
			err           error
		}{{ws1, name1, key1, err1}, {ws2, name2, key2, err2}} {
			switch {
			case c.err != nil && c.key != "":
				t.Fatalf("%q in %q is refused, and at %q", c.name, c.ws, c.key)
			case c.err != nil:
			case c.key != prefix+"/"+c.ws+"/"+c.name || strings.Count(c.key, "/") != 3 || path.Clean(c.key) != c.key || !repostore.ValidWorkspace(c.ws):
				t.Fatalf("%q in %q is at %q", c.name, c.ws, c.key)
			}
		}
		if err1 != nil || err2 != nil {
			return
		}
		if (key1 == key2) != (ws1 == ws2 && name1 == name2) {
			t.Fatalf("%q in %q and %q in %q are at %q and %q", name1, ws1, name2, ws2, key1, key2)
		}
		// The storage adds the slash to what it lists.
		if strings.HasPrefix(key1, rootKey(two, prefix)+"/") != (ws1 == ws2) {
			t.Fatalf("%q lies below %q", key1, rootKey(two, prefix))
		}
	})
}
