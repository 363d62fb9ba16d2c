package testpds

import (
	"fmt"
	"strings"
)

// otherCID is no record's.
const otherCID = "bafyreicrdk6urct4tswl7m2t5wtnftc3cejyoyvgtyjxbfpo2wcxuu4kr4"

// rawCID is a CID of raw bytes, as blobs have it, of no blob.
const rawCID = "bafkreicrdk6urct4tswl7m2t5wtnftc3cejyoyvgtyjxbfpo2wcxuu4kr4"

// putStep is a put by alice.
func putStep(name, rkey, record, more string) step {
	return step{name: name, run: func(p *peer) answer {
		p.as("alice")
		r := p.put(rkey, record, more)
		if c := r.text("cid"); c != "" {
			p.vars["last"] = c
		}
		if c := r.text("commit", "cid"); c != "" {
			p.vars["commit"] = c
		}
		return r
	}}
}

// rawStep is a procedure by alice with a body.
func rawStep(name, nsid, body string) step {
	return step{name: name, run: func(p *peer) answer { p.as("alice"); return p.post(nsid, body) }}
}

// loosely compares all but messages.
func loosely(st step) step { st.loose = true; return st }

// putSteps compare com.atproto.repo.putRecord and createRecord: conditions,
// callers, and who may.
func putSteps() []step {
	const put = "com.atproto.repo.putRecord"
	const create = "com.atproto.repo.createRecord"
	const head = `{"repo":"{alice}","collection":"` + infraCollection + `"`
	return []step{
		putStep("create", "a", `{"x":1}`, `,"swapRecord":null`),
		putStep("create again, other content", "a", `{"x":2}`, `,"swapRecord":null`),
		putStep("create again, same content", "a", `{"x":1}`, `,"swapRecord":null`),
		putStep("no-op, stale swap", "a", `{"x":1}`, `,"swapRecord":"`+otherCID+`"`),
		putStep("no-op, stale swapCommit", "a", `{"x":1}`, `,"swapCommit":"`+otherCID+`"`),
		putStep("no-op, no swap", "a", `{"x":1}`, ``),
		putStep("stale swap", "a", `{"x":2}`, `,"swapRecord":"`+otherCID+`"`),
		putStep("right swap", "a", `{"x":2}`, `,"swapRecord":"{last}"`),
		putStep("A", "a", `{"x":3}`, ``),
		putStep("swap on what is absent", "b", `{"x":1}`, `,"swapRecord":"`+otherCID+`"`),
		putStep("stale swapCommit", "a", `{"x":4}`, `,"swapCommit":"`+otherCID+`"`),
		putStep("right swapCommit", "a", `{"x":4}`, `,"swapCommit":"{commit}"`),
		putStep("both swaps", "a", `{"x":5}`, `,"swapCommit":"{commit}","swapRecord":"{last}"`),
		putStep("swap is garbage", "a", `{"x":6}`, `,"swapRecord":"garbage"`),
		putStep("swap is empty", "a", `{"x":6}`, `,"swapRecord":""`),
		loosely(putStep("swap is a number", "a", `{"x":6}`, `,"swapRecord":12`)),
		loosely(putStep("swapCommit is null", "a", `{"x":6}`, `,"swapCommit":null`)),
		putStep("validate true", "a", `{"x":6}`, `,"validate":true`),
		putStep("validate false", "a", `{"x":6}`, `,"validate":false`),
		loosely(putStep("validate is text", "a", `{"x":6}`, `,"validate":"yes"`)),
		rawStep("repo by handle", put, `{"repo":"alice.test","collection":"`+infraCollection+`","rkey":"h","record":{}}`),
		rawStep("another's repo", put, `{"repo":"{bob}","collection":"`+infraCollection+`","rkey":"a","record":{}}`),
		rawStep("nobody's repo", put, `{"repo":"nobody.test","collection":"`+infraCollection+`","rkey":"a","record":{}}`),
		rawStep("no repo", put, `{"collection":"`+infraCollection+`","rkey":"a","record":{}}`),
		loosely(rawStep("repo is no identifier", put, `{"repo":"x y","collection":"`+infraCollection+`","rkey":"a","record":{}}`)),
		rawStep("no collection", put, `{"repo":"{alice}","rkey":"a","record":{}}`),
		rawStep("bad collection", put, `{"repo":"{alice}","collection":"bad","rkey":"a","record":{}}`),
		rawStep("no rkey", put, head+`,"record":{}}`),
		rawStep("no record", put, head+`,"rkey":"a"}`),
		{name: "no token", run: func(p *peer) answer { p.as(""); return p.put("a", `{}`, "") }},
		{name: "garbage token", run: func(p *peer) answer { p.auth = "Bearer x"; return p.put("a", `{}`, "") }},
		rawStep("createRecord", create, head+`,"rkey":"c","record":{"x":1}}`),
		rawStep("createRecord of an existing key", create, head+`,"rkey":"c","record":{"x":2}}`),
		rawStep("createRecord, stale swapCommit", create, head+`,"rkey":"d","record":{},"swapCommit":"`+otherCID+`"}`),
		rawStep("createRecord of a bad key", create, head+`,"rkey":"..","record":{}}`),
		rawStep("createRecord, validate", create, head+`,"rkey":"d","record":{},"validate":true}`),
		{name: "createRecord without a key", run: func(p *peer) answer {
			r := p.post(create, p.expand(head+`,"record":{"$type":"`+infraCollection+`"}}`))
			p.vars["made"] = r.text("uri")
			return r
		}},
	}
}

// recordContentSteps compare what records may hold, and under which keys.
func recordContentSteps() []step {
	steps := []step{}
	for i, record := range []string{
		`{"x":1.5}`, `{"x":[1,2.5]}`, `{"x":1.0}`, `{"x":1e3}`, `{"x":-0}`, `{"x":9007199254740991}`, `{"x":-9007199254740991}`,
		`{"x":9007199254740992}`, `{"x":-9007199254740993}`, `{"x":null}`, `{"x":[]}`, `{"x":{}}`, `{"x":[[[]]]}`,
		`{"x":{"$link":"garbage"}}`, `{"x":{"$link":"` + otherCID + `"}}`, `{"x":{"$link":"` + otherCID + `","y":1}}`, `{"x":{"$link":3}}`,
		`{"x":{"$bytes":"aGVsbG8"}}`, `{"x":{"$bytes":"aGVsbG8="}}`, `{"x":{"$bytes":"@@@"}}`, `{"x":{"$bytes":""}}`,
		`{"x":{"$type":""}}`, `{"x":{"$type":3}}`, `{"x":{"$type":"foo"}}`, `{"$type":"foo.bar.baz"}`, `{"$type":3}`, `{"$type":null}`,
		`{"$type":""}`, `{"$type":"` + infraCollection + `"}`, `[]`, `"x"`, `null`, `3`, `true`,
		`{"":1}`, `{"a b":"\u0000"}`, `{"x":"\ud83d\ude00 <&>"}`, `{"z":1,"aa":2,"b":3}`, `{"x":1,"x":2}`, `{"x":true,"y":false}`,
		`{"x":{"$type":"blob","ref":{"$link":"` + rawCID + `"},"mimeType":"a/b","size":3}}`,
		`{"x":[{"$type":"blob","ref":{"$link":"` + rawCID + `"},"mimeType":"a/b","size":3}]}`,
		`{"x":{"$type":"blob","ref":{"$link":"` + rawCID + `"},"mimeType":"a/b"}}`,
		`{"x":{"$type":"blob","ref":"` + rawCID + `","mimeType":"a/b","size":3}}`,
		`{"x":{"$type":"blob","ref":{"$link":"` + rawCID + `"},"mimeType":"a/b","size":3,"more":1}}`,
		`{"x":{"$type":"blob","ref":{"$link":"` + rawCID + `"},"mimeType":"","size":3}}`,
		`{"x":{"$type":"blob","ref":{"$link":"` + rawCID + `"},"mimeType":"a/b","size":-3}}`,
		`{"x":{"$type":"blob","ref":{"$link":"` + otherCID + `"},"mimeType":"a/b","size":3}}`,
		`{"x":{"cid":"` + rawCID + `","mimeType":"a/b"}}`,
		`{"x":{"cid":"` + rawCID + `","mimeType":"a/b","y":1}}`,
		`{"x":{"cid":"garbage","mimeType":"a/b"}}`,
		`{"x":{"$link":"` + rawCID + `"}}`,
	} {
		steps = append(steps,
			putStep(fmt.Sprintf("record %d %s", i, record), "content", record, ""),
			step{name: "read " + record, run: func(p *peer) answer { return p.read("content") }})
	}
	steps = append(steps, loosely(rawStep("broken JSON", "com.atproto.repo.putRecord", `{"repo":1`)),
		loosely(rawStep("JSON that is no object", "com.atproto.repo.putRecord", `[]`)),
		loosely(rawStep("data after JSON", "com.atproto.repo.putRecord", `{} {}`)))
	for _, rkey := range []string{
		"a:b~_-X.", "self", "1", "A", "-", "_", "...", ".x", strings.Repeat("k", 512), "a.b-c.d",
		".", "..", "a/b", "a%20", "a b", "", "é", "a@b", "a+b", "a#b", strings.Repeat("k", 513),
	} {
		steps = append(steps, putStep(fmt.Sprintf("rkey %q", rkey), rkey, `{"k":1}`, ""))
	}
	for _, size := range []int{140_000, 900_000, 1_000_000, 1_200_000} {
		steps = append(steps, step{name: fmt.Sprintf("%d bytes", size), run: func(p *peer) answer {
			p.as("alice")
			return p.put("big", `{"x":"`+strings.Repeat("x", size)+`"}`, "")
		}})
	}
	return steps
}

// deleteSteps compare com.atproto.repo.deleteRecord.
func deleteSteps() []step {
	remove := func(name, rkey, more string) step {
		return step{name: name, run: func(p *peer) answer { p.as("alice"); return p.remove(rkey, more) }}
	}
	return []step{
		putStep("put", "del", `{"x":1}`, ""),
		remove("stale swap", "del", `,"swapRecord":"`+otherCID+`"`),
		remove("stale swapCommit", "del", `,"swapCommit":"`+otherCID+`"`),
		remove("swap is garbage", "del", `,"swapRecord":"garbage"`),
		loosely(remove("swap is null", "del", `,"swapRecord":null`)),
		remove("right swap", "del", `,"swapRecord":"{last}"`),
		remove("again, stale swap", "del", `,"swapRecord":"`+otherCID+`"`),
		remove("again", "del", ``),
		remove("what never was", "never", ``),
		remove("bad key", "..", ``),
		{name: "no token", run: func(p *peer) answer { p.as(""); return p.remove("a", "") }},
		{name: "another's", run: func(p *peer) answer { p.login("bob"); return p.remove("a", "") }},
	}
}

// applySteps compare com.atproto.repo.applyWrites.
func applySteps() []step {
	apply := func(name, writes, more string) step {
		return step{name: name, run: func(p *peer) answer {
			p.as("alice")
			r := p.apply(writes, more)
			if c := r.text("commit", "cid"); c != "" {
				p.vars["commit"] = c
			}
			return r
		}}
	}
	write := func(action, rkey, rest string) string {
		return `{"$type":"com.atproto.repo.applyWrites#` + action + `","collection":"` + infraCollection + `","rkey":"` + rkey + `"` + rest + `}`
	}
	many := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = write("create", fmt.Sprintf("many-%d", i), `,"value":{"n":1}`)
		}
		return strings.Join(list, ",")
	}
	value := `,"value":{"n":1}`
	return []step{
		apply("none", "", ""),
		apply("create two", write("create", "w1", value)+","+write("create", "w2", value), ""),
		apply("create existing", write("create", "w1", value), ""),
		apply("update, delete, create", write("update", "w1", `,"value":{"n":2}`)+","+write("delete", "w2", "")+","+write("create", "w3", value), ""),
		apply("update with the same", write("update", "w1", `,"value":{"n":2}`), ""),
		apply("update absent", write("update", "absent", value), ""),
		apply("delete absent", write("delete", "absent", ""), ""),
		apply("create and delete", write("create", "w4", value)+","+write("delete", "w4", ""), ""),
		apply("half bad", write("create", "w5", value)+","+write("create", "w1", value), ""),
		apply("swapRecord of a write is ignored", write("update", "w1", value+`,"swapRecord":"`+otherCID+`"`), ""),
		apply("stale swapCommit", write("create", "w6", value), `,"swapCommit":"`+otherCID+`"`),
		apply("right swapCommit", write("create", "w6", value), `,"swapCommit":"{commit}"`),
		apply("wrong $type", write("create", "w7", `,"value":{"$type":"a.b.c"}`), ""),
		apply("float", write("create", "w7", `,"value":{"x":1.5}`), ""),
		apply("validate", write("create", "w7", value), `,"validate":true`),
		loosely(apply("unknown action", write("upsert", "w7", value), "")),
		loosely(apply("no value", write("create", "w7", ""), "")),
		loosely(apply("bad key", write("create", "..", value), "")),
		apply("200", many(200), ""),
		apply("201", many(201), ""),
		rawStep("writes missing", "com.atproto.repo.applyWrites", `{"repo":"{alice}"}`),
		rawStep("another's repo", "com.atproto.repo.applyWrites", `{"repo":"{bob}","writes":[]}`),
		{name: "create without a key", run: func(p *peer) answer {
			r := p.apply(`{"$type":"com.atproto.repo.applyWrites#create","collection":"`+infraCollection+`","value":{"n":1}}`, "")
			list, _ := r.body["results"].([]any)
			if len(list) == 1 {
				p.vars["made2"], _ = list[0].(object)["uri"].(string)
				p.apply(write("delete", p.vars["made2"][strings.LastIndex(p.vars["made2"], "/")+1:], ""), "")
			}
			return r
		}},
		{name: "too big an event", run: func(p *peer) answer {
			for i := range 3 {
				p.put(fmt.Sprint("big-", i), `{"x":"`+strings.Repeat("x", 800_000)+`"}`, "")
			}
			return p.apply(write("delete", "big-0", "")+","+write("delete", "big-1", "")+","+write("delete", "big-2", ""), "")
		}},
	}
}
