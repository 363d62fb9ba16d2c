package atproto

import (
	"errors"
	"net/http"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto/internal/cartest"
	"socialweb.computer/infra-apiserver/internal/atproto/recordcid"
)

const (
	getMethod    = "com.atproto.repo.getRecord"
	listMethod   = "com.atproto.repo.listRecords"
	proveMethod  = "com.atproto.sync.getRecord"
	exportMethod = "com.atproto.sync.getRepo"
)

// repoPDS is a fake PDS that serves a repository, honestly at first.
type repoPDS struct {
	*fakePDS
	built *cartest.Built
}

func newRepoPDS(t *testing.T, r cartest.Repo) *repoPDS {
	t.Helper()
	r.DID = testDID
	p := &repoPDS{fakePDS: newFakePDS(t), built: r.Build(t)}
	p.sayCAR(proveMethod, p.built.CAR(t, nil))
	p.sayCAR(exportMethod, p.built.CAR(t, nil))
	p.say(latestMethod, 200, map[string]any{"cid": p.built.Root.String(), "rev": "3kabcdefghi22"})
	return p
}

func (p *repoPDS) sayCAR(method string, b []byte) {
	p.on(method, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(b) })
}

func (p *repoPDS) client(t *testing.T) *Client {
	t.Helper()
	return p.fakePDS.client(t, func(cfg *Config) { cfg.Keys = oneKey{p.built.Public} })
}

func one(description string) cartest.Repo {
	return cartest.Repo{Records: map[string]map[string]any{testKey.Path(): testValue(description)}}
}

func output(t *testing.T, key Key, value any, cid string) map[string]any {
	t.Helper()
	if cid == "" {
		id, err := recordcid.Of(value.(map[string]any))
		if err != nil {
			t.Fatal(err)
		}
		cid = id
	}
	return map[string]any{"uri": "at://" + testDID + "/" + key.Path(), "cid": cid, "value": value}
}

func TestGetRecordChecksTheCID(t *testing.T) {
	p := newRepoPDS(t, one("A"))
	c := p.client(t)
	p.say(getMethod, 200, output(t, testKey, testValue("A"), ""))
	rec, err := c.GetRecord(t.Context(), testKey)
	if err != nil || rec.Value["description"] != "A" || p.count(proveMethod) != 0 {
		t.Fatalf("%+v, %v", rec, err)
	}
	// A value that is not the CID's: the proof decides.
	p.say(getMethod, 200, output(t, testKey, testValue("forged"), rec.CID))
	rec, err = c.GetRecord(t.Context(), testKey)
	if err != nil || rec.Value["description"] != "A" {
		t.Errorf("%+v, %v", rec, err)
	}
	// Without a good proof there is no record.
	p.sayCAR(proveMethod, []byte("junk"))
	if rec, err = c.GetRecord(t.Context(), testKey); !errors.Is(err, ErrBadData) {
		t.Errorf("%+v, %v", rec, err)
	}
}

// A record whose bytes are no atproto data exists and has no value.
func TestInvalidRecordsExist(t *testing.T) {
	float := cartest.Float(t)
	p := newRepoPDS(t, cartest.Repo{Raw: map[string][]byte{testKey.Path(): float}})
	c := p.client(t)
	want := cartest.Sum(t, float).String()
	out := output(t, testKey, map[string]any{"$type": "a.b.c", "x": 1.5}, want)
	p.say(getMethod, 200, out)
	p.say(listMethod, 200, map[string]any{"records": []any{out}})
	check := func(what string, rec Record, err error) {
		t.Helper()
		if err != nil || rec.CID != want || rec.Value != nil {
			t.Errorf("%s: %+v, %v", what, rec, err)
		}
	}
	rec, err := c.GetRecord(t.Context(), testKey)
	check("get", *rec, err)
	rec, _, err = c.ProveRecord(t.Context(), testKey)
	check("prove", *rec, err)
	list, _, err := c.ListRecords(t.Context(), testKey.Collection, "", 10)
	check("list", list[0].Record, err)
	all, _, err := c.Export(t.Context(), []string{testKey.Collection})
	check("export", all[testKey], err)
}

func TestCouldNotLocateIsExplained(t *testing.T) {
	p := newRepoPDS(t, one("A"))
	c := p.client(t)
	p.say(getMethod, 400, xrpcError("InvalidRequest", "Could not locate record: at://x"))
	p.say(listMethod, 400, xrpcError("InvalidRequest", "Could not find repo: x"))
	// The repository is active: the proof says what there is.
	if rec, err := c.GetRecord(t.Context(), testKey); err != nil || rec.Value["description"] != "A" {
		t.Errorf("%+v, %v", rec, err)
	}
	if _, err := c.GetRecord(t.Context(), Key{testKey.Collection, "b"}); !errors.Is(err, ErrRecordNotFound) {
		t.Errorf("absent: %v", err)
	}
	if _, _, err := c.ListRecords(t.Context(), testKey.Collection, "", 0); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrRepoNotFound) {
		t.Errorf("list: %v", err)
	}
	for name, want := range map[string]error{"RepoDeactivated": ErrRepoInactive, "RepoTakendown": ErrRepoInactive, "RepoNotFound": ErrRepoNotFound} {
		p.say(latestMethod, 400, xrpcError(name, ""))
		_, err := c.GetRecord(t.Context(), testKey)
		_, _, lerr := c.ListRecords(t.Context(), testKey.Collection, "", 0)
		for _, err := range []error{err, lerr} {
			if !errors.Is(err, want) || errors.Is(err, ErrRecordNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	p.say(latestMethod, 503, nil)
	if _, err := c.GetRecord(t.Context(), testKey); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrRecordNotFound) {
		t.Errorf("no explanation: %v", err)
	}
}

func TestListPages(t *testing.T) {
	p := newRepoPDS(t, one("A"))
	c := p.client(t)
	var query map[string][]string
	answer := map[string]any{}
	p.on(listMethod, func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.Query()
		reply(w, 200, answer)
	})
	answer = map[string]any{"cursor": "a", "records": []any{output(t, testKey, testValue("A"), "")}}
	page, next, err := c.ListRecords(t.Context(), testKey.Collection, "z", 7)
	if err != nil || next != "a" || len(page) != 1 || page[0].RKey != testKey.RKey || page[0].Value["description"] != "A" {
		t.Errorf("%+v, %q, %v", page, next, err)
	}
	if query["limit"][0] != "7" || query["cursor"][0] != "z" || query["repo"][0] != testDID {
		t.Errorf("query %v", query)
	}
	// A cursor with an empty page is the end.
	answer = map[string]any{"cursor": "a", "records": []any{}}
	if page, next, err := c.ListRecords(t.Context(), testKey.Collection, "", 1000); err != nil || next != "" || len(page) != 0 {
		t.Errorf("%+v, %q, %v", page, next, err)
	}
	if query["limit"][0] != "100" || query["cursor"] != nil {
		t.Errorf("query %v", query)
	}
	gone := Key{testKey.Collection, "gone"}
	for name, tc := range map[string]struct {
		answer map[string]any
		want   error
		n      int
	}{
		"cursor stands still":   {map[string]any{"cursor": "z", "records": []any{output(t, testKey, testValue("A"), "")}}, ErrBadData, 0},
		"record of another":     {map[string]any{"records": []any{map[string]any{"uri": "at://did:plc:x/" + testKey.Path(), "cid": someCID, "value": map[string]any{}}}}, ErrBadData, 0},
		"of another collection": {map[string]any{"records": []any{output(t, Key{"x.y.z", "a"}, testValue("A"), "")}}, ErrBadData, 0},
		"deleted meanwhile":     {map[string]any{"records": []any{output(t, gone, testValue("A"), someCID), output(t, testKey, testValue("A"), "")}}, nil, 1},
		"no list":               {map[string]any{"records": "x"}, ErrBadData, 0},
	} {
		answer = tc.answer
		page, _, err := c.ListRecords(t.Context(), testKey.Collection, "z", 0)
		if !errors.Is(err, tc.want) || len(page) != tc.n {
			t.Errorf("%s: %+v, %v", name, page, err)
		}
	}
	if _, _, err := c.ListRecords(t.Context(), "no nsid", "", 0); !errors.Is(err, ErrInvalidRecord) {
		t.Errorf("%v", err)
	}
}
