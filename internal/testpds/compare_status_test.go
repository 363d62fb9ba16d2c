package testpds

import "encoding/base64"

// admin sends an administrator's call.
func (p *peer) admin(body string) answer {
	p.auth = "Basic " + base64.StdEncoding.EncodeToString([]byte("admin:"+p.server.AdminPassword))
	defer p.as("")
	return p.post("com.atproto.admin.updateSubjectStatus", body)
}

// statusSteps compare inactive accounts and records that are taken down.
func statusSteps() []step {
	repo := func(applied string) string {
		return `{"subject":{"$type":"com.atproto.admin.defs#repoRef","did":"{bob}"},"takedown":{"applied":` + applied + `,"ref":"x"}}`
	}
	record := func(applied string) string {
		return `{"subject":{"$type":"com.atproto.repo.strongRef","uri":"at://{alice}/` + infraCollection + `/a","cid":"` + otherCID +
			`"},"takedown":{"applied":` + applied + `,"ref":"x"}}`
	}
	as := func(name string, run func(p *peer) answer) func(p *peer) answer {
		return func(p *peer) answer { p.as(name); return run(p) }
	}
	bobPut := func(p *peer) answer {
		return p.post("com.atproto.repo.putRecord", `{"repo":"{bob}","collection":"`+infraCollection+`","rkey":"a","record":{"x":1}}`)
	}
	// What an inactive repository answers, to nobody and to its owner.
	inactive := func(state string) []step {
		steps := []step{
			query(state+": getRecord", "com.atproto.repo.getRecord?repo={bob}&collection="+infraCollection+"&rkey=a"),
			query(state+": listRecords", "com.atproto.repo.listRecords?repo={bob}&collection="+infraCollection),
			query(state+": describeRepo", "com.atproto.repo.describeRepo?repo={bob}"),
			query(state+": sync.getRecord", "com.atproto.sync.getRecord?did={bob}&collection="+infraCollection+"&rkey=a"),
			query(state+": getLatestCommit", "com.atproto.sync.getLatestCommit?did={bob}"),
			query(state+": getRepo", "com.atproto.sync.getRepo?did={bob}"),
			query(state+": getRepoStatus", "com.atproto.sync.getRepoStatus?did={bob}"),
			query(state+": resolveHandle", "com.atproto.identity.resolveHandle?handle=bob.test"),
			{name: state + ": put", run: as("bob", bobPut)},
			{name: state + ": delete", run: as("bob", func(p *peer) answer {
				return p.post("com.atproto.repo.deleteRecord", `{"repo":"{bob}","collection":"`+infraCollection+`","rkey":"a"}`)
			})},
			{name: state + ": getSession", run: as("bob", func(p *peer) answer { return p.get("com.atproto.server.getSession") })},
			{name: state + ": owner's getLatestCommit", run: as("bob", func(p *peer) answer {
				r := p.get("com.atproto.sync.getLatestCommit?did={bob}")
				p.vars["latest"] = r.text("cid")
				return r
			})},
			{name: state + ": owner's getRecord", run: as("bob", func(p *peer) answer {
				return p.get("com.atproto.repo.getRecord?repo={bob}&collection=" + infraCollection + "&rkey=a")
			})},
			{name: state + ": refresh", run: func(p *peer) answer {
				p.auth = "Bearer " + p.vars["bob.refresh"]
				r := p.post("com.atproto.server.refreshSession", "")
				if r.status == 200 {
					p.keep("bob", r)
				}
				return r
			}},
			{name: state + ": login", run: func(p *peer) answer {
				p.vars["other"], p.vars["other.password"] = p.vars["bob"], p.vars["bob.password"]
				return p.login("other")
			}},
		}
		return steps
	}
	steps := []step{
		{name: "login", run: func(p *peer) answer { return p.login("bob") }},
		{name: "put", run: bobPut},
		{name: "admin without password", run: func(p *peer) answer {
			p.as("")
			return p.post("com.atproto.admin.updateSubjectStatus", repo("true"))
		}},
		{name: "deactivate", run: as("bob", func(p *peer) answer { return p.post("com.atproto.server.deactivateAccount", `{}`) })},
	}
	steps = append(steps, inactive("deactivated")...)
	steps = append(steps,
		step{name: "activate", run: as("bob", func(p *peer) answer { return p.post("com.atproto.server.activateAccount", "") })},
		step{name: "put after activation", run: as("bob", bobPut)},
		step{name: "take down", run: func(p *peer) answer { return p.admin(repo("true")) }})
	steps = append(steps, inactive("taken down")...)
	steps = append(steps,
		step{name: "login, takedown allowed", run: func(p *peer) answer {
			p.as("")
			return p.post("com.atproto.server.createSession", `{"identifier":"{bob}","password":"{bob.password}","allowTakendown":true}`)
		}},
		step{name: "activate what is taken down", run: as("bob", func(p *peer) answer { return p.post("com.atproto.server.activateAccount", "") })},
		step{name: "take up", run: func(p *peer) answer { return p.admin(repo("false")) }},
		step{name: "refresh after the takedown", run: func(p *peer) answer {
			p.auth = "Bearer " + p.vars["bob.refresh"]
			return p.post("com.atproto.server.refreshSession", "")
		}},
		step{name: "put with the old access token", run: as("bob", bobPut)},

		step{name: "take a record down", run: func(p *peer) answer { return p.admin(record("true")) }},
		query("its getRecord", "com.atproto.repo.getRecord?repo={alice}&collection="+infraCollection+"&rkey=a"),
		query("its listRecords", "com.atproto.repo.listRecords?repo={alice}&collection="+infraCollection+"&reverse=true&limit=5"),
		query("its proof", "com.atproto.sync.getRecord?did={alice}&collection="+infraCollection+"&rkey=a"),
		putStep("create in its place", "a", `{"x":"new"}`, `,"swapRecord":null`),
		putStep("replace it", "a", `{"x":"newer"}`, ``),
		query("its getRecord, replaced", "com.atproto.repo.getRecord?repo={alice}&collection="+infraCollection+"&rkey=a"),
		step{name: "take it up", run: func(p *peer) answer { return p.admin(record("false")) }},
		query("its getRecord, up", "com.atproto.repo.getRecord?repo={alice}&collection="+infraCollection+"&rkey=a"),
		step{name: "bad subject", run: func(p *peer) answer { return p.admin(`{"subject":{"$type":"x"},"takedown":{"applied":true}}`) }, loose: true},
		step{name: "no subject", run: func(p *peer) answer { return p.admin(`{}`) }},
	)
	return steps
}
