package devpds

// endpoints by method name. It is filled in by init because handlers refer to it
// through the server.
var endpoints map[string]endpoint

func init() {
	standard, full := accessAuth(accessStandard...), accessAuth(accessFull...)
	syncAuth := optionalAuth(accessStandard...)
	writes := func(points func(*request) int) func(*Server, *request) []charge {
		return func(s *Server, r *request) []charge {
			n := points(r)
			return []charge{{s.limits.writeHour, r.auth.did, n}, {s.limits.writeDay, r.auth.did, n}}
		}
	}
	fixed := func(n int) func(*request) int { return func(*request) int { return n } }

	endpoints = map[string]endpoint{
		"com.atproto.server.describeServer":    {handle: (*Server).describeServer},
		"com.atproto.server.createAccount":     {procedure: true, input: true, handle: (*Server).serveCreateAccount, charges: chargeSignup},
		"com.atproto.server.createSession":     {procedure: true, input: true, parse: parseLogin, handle: (*Server).createSession, charges: chargeLogin},
		"com.atproto.server.refreshSession":    {procedure: true, auth: refreshAuth(false), handle: (*Server).refreshSession},
		"com.atproto.server.getSession":        {auth: standard, handle: (*Server).getSession},
		"com.atproto.server.deleteSession":     {procedure: true, auth: refreshAuth(true), handle: (*Server).deleteSession},
		"com.atproto.server.createAppPassword": {procedure: true, input: true, auth: full, handle: (*Server).createAppPassword},
		"com.atproto.server.deactivateAccount": {procedure: true, input: true, auth: accessAuth(scopeAccess, scopeTakendown), handle: (*Server).deactivateAccount},
		"com.atproto.server.activateAccount":   {procedure: true, auth: full, handle: (*Server).activateAccount},

		"com.atproto.identity.resolveHandle": {params: []string{"handle"}, handle: (*Server).resolveHandle},

		"com.atproto.repo.describeRepo": {params: []string{"repo"}, handle: (*Server).describeRepo},
		"com.atproto.repo.getRecord":    {params: []string{"repo", "collection", "rkey"}, handle: (*Server).getRecord},
		"com.atproto.repo.listRecords":  {params: []string{"repo", "collection"}, handle: (*Server).listRecords},
		"com.atproto.repo.putRecord":    {procedure: true, input: true, limit: recordBodyLimit, auth: standard, charges: writes(fixed(2)), parse: parsePut, handle: (*Server).putRecord},
		"com.atproto.repo.createRecord": {procedure: true, input: true, limit: recordBodyLimit, auth: standard, charges: writes(fixed(3)), parse: parseCreate, handle: (*Server).createRecord},
		"com.atproto.repo.deleteRecord": {procedure: true, input: true, auth: standard, charges: writes(fixed(1)), parse: parseDelete, handle: (*Server).deleteRecord},
		"com.atproto.repo.applyWrites":  {procedure: true, input: true, limit: recordBodyLimit, auth: standard, charges: writes(applyWritesPoints), parse: parseApply, handle: (*Server).applyWrites},

		"com.atproto.sync.getLatestCommit": {params: []string{"did"}, auth: syncAuth, handle: (*Server).getLatestCommit},
		"com.atproto.sync.getRecord":       {params: []string{"did", "collection", "rkey"}, auth: syncAuth, handle: (*Server).syncGetRecord},
		"com.atproto.sync.getRepo":         {params: []string{"did"}, auth: optionalAuth(append([]string{scopeTakendown}, accessStandard...)...), charges: chargeGetRepo, uncounted: true, handle: (*Server).getRepo},
		"com.atproto.sync.getRepoStatus":   {params: []string{"did"}, handle: (*Server).getRepoStatus},
		"com.atproto.sync.listRepos":       {handle: (*Server).listRepos},

		"com.atproto.admin.updateSubjectStatus": {procedure: true, input: true, auth: adminAuth, handle: (*Server).updateSubjectStatus},
	}
}

func chargeSignup(s *Server, r *request) []charge {
	return []charge{{s.limits.signup, clientIP(r.http), 1}}
}

func chargeLogin(s *Server, r *request) []charge {
	identifier, _ := r.body["identifier"].(string)
	key := identifier + "-" + clientIP(r.http)
	return []charge{{s.limits.loginDay, key, 1}, {s.limits.loginFive, key, 1}}
}

func chargeGetRepo(s *Server, r *request) []charge {
	return []charge{{s.limits.getRepo, clientIP(r.http), 1}}
}
