package repostore

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// FuzzKeys: whatever an object or a record is called, what is kept of it is kept under
// keys of its workspace alone, no two of which are the same, and a key of an object
// reads as what it was made of.
func FuzzKeys(f *testing.F) {
	for _, s := range [][6]string{
		{"w1", "a", "did:plc:x", "w2", "a", "did:plc:x"}, {"w1", "a", "did:plc:x", "w1", "a", "did:plc:y"}, {"w1", "a", "did:web:x%3A1", "w1", "b", "did:web:x"}, {"w1", "w2", "w2", "w2", "w1", "w1"},
		{"w1", "..", "did:plc:..", "w2", ".", ".."}, {"w1", "a~b", "did:plc:x", "w1", "a_b", "did:plc:x"}, {"w1", "self", "did:web:localhost", "w1-2", "self", "did:web:localhost"}, {"w1", "a:b", "did:plc:x:a", "w1", "b", "did:plc:x:a:a"},
	} {
		f.Add(s[0], s[1], s[2], s[3], s[4], s[5])
	}
	k := newKeyspace("/registry/x")
	f.Fuzz(func(t *testing.T, ws1, name1, did1, ws2, name2, did2 string) {
		uri1, ok1 := parseURI("at://" + did1 + "/computer.socialweb.infra/" + name1)
		uri2, ok2 := parseURI("at://" + did2 + "/computer.socialweb.infra/" + name2)
		if !ok1 || !ok2 || !ValidWorkspace(ws1) || !ValidWorkspace(ws2) {
			return
		}
		if uri1.RKey != name1 || uri1.did != did1 || (uri1 == uri2) != (name1 == name2 && did1 == did2) {
			t.Fatalf("%q and %q read as %+v and %+v", did1+"/"+name1, did2+"/"+name2, uri1, uri2)
		}
		seen := map[string]string{}
		for _, o := range []struct {
			ws, name string
			uri      recordURI
		}{{ws1, name1, uri1}, {ws2, name2, uri2}} {
			ref := makeRef("/infras", o.ws, o.name)
			if got := parseRef("/infras", ref.key); got != ref {
				t.Fatalf("%+v reads as %+v", ref, got)
			}
			of := keysOf(k, ref, o.uri)
			for what, key := range of {
				who := strings.Join([]string{what, o.ws, o.name, o.uri.did}, "\x00")
				if strings.HasPrefix(what, "repository") {
					who = strings.Join([]string{what, o.ws, o.uri.did}, "\x00")
				} else if strings.HasPrefix(what, "object") {
					who = strings.Join([]string{what, o.ws, o.name}, "\x00")
				}
				if before, ok := seen[key]; ok && before != who {
					t.Fatalf("%q is of %q and of %q", key, before, who)
				}
				seen[key] = who
				if !strings.HasPrefix(key, "/registry/x/") || !strings.Contains(key, "/"+o.ws+"/") {
					t.Fatalf("%s of %q in %q is %q", what, o.name, o.ws, key)
				}
			}
		}
		// What is listed and watched of one workspace holds nothing of another.
		if ws1 == ws2 {
			return
		}
		for _, prefix := range []string{k.views() + makeRef("/infras", ws2, "").key, k.tombstonesIn("/infras", ws2), k.uids("infras", ws2, did2), k.fence(ws2, "")} {
			for what, key := range keysOf(k, makeRef("/infras", ws1, name1), uri1) {
				if strings.HasPrefix(key, prefix) {
					t.Fatalf("%s of %q in %q is below %q", what, name1, ws1, prefix)
				}
			}
		}
	})
}

// keysOf is where everything of an object and its record is kept.
func keysOf(k keyspace, ref objectRef, u recordURI) map[string]string {
	return map[string]string{
		"object view": k.view(ref), "object intent": k.intent(ref), "object tombstones": k.tombstones(ref), "object closing": k.closing(ref.workspace, ref.name, types.UID("u")),
		"record uid": k.uid("infras", ref.workspace, u.did, u.RKey), "record detached": k.detached("infras", ref.workspace, u.did, u.RKey),
		"repository fence": k.fence(ref.workspace, u.did), "repository horizon": k.horizon(ref.workspace, u.did),
	}
}
