package metrics

var doorRefusals = counter("door_refusals_total",
	"Requests that were refused at /clusters/<workspace>/…, at the path of kcp's shards, or because a shard asked elsewhere, by why: no_certificate, certificate (not of a shard), name (of a shard that isn't let in), elsewhere, path, workspace, identity, verb, unauthenticated, access.", "reason")

// DoorRefusal is why a request was refused at a door.
type DoorRefusal string

// Reasons of refusals at a door.
const (
	// DoorNoCertificate: kcp's path, without a client certificate.
	DoorNoCertificate DoorRefusal = "no_certificate"
	// DoorCertificate: kcp's path, with a certificate that is not of a shard.
	DoorCertificate DoorRefusal = "certificate"
	// DoorName: a certificate of kcp's own, by its name, that isn't let in.
	DoorName DoorRefusal = "name"
	// DoorElsewhere: a shard asked for something that is in no workspace.
	DoorElsewhere DoorRefusal = "elsewhere"
	// DoorPath: the path names no workspace, or nothing that a workspace has.
	DoorPath DoorRefusal = "path"
	// DoorWorkspace: a workspace that isn't served at this door.
	DoorWorkspace DoorRefusal = "workspace"
	// DoorIdentity: the user that a shard names is ambiguous.
	DoorIdentity DoorRefusal = "identity"
	// DoorVerb: a shard wants what is not for it to do.
	DoorVerb DoorRefusal = "verb"
	// DoorUnauthenticated: nobody knows who asks.
	DoorUnauthenticated DoorRefusal = "unauthenticated"
	// DoorAccess: the user may not come by the path of this workspace.
	DoorAccess DoorRefusal = "access"
)

// doorReasons are all of them.
var doorReasons = []DoorRefusal{
	DoorNoCertificate, DoorCertificate, DoorName, DoorElsewhere, DoorPath,
	DoorWorkspace, DoorIdentity, DoorVerb, DoorUnauthenticated, DoorAccess,
}

// DoorRefused counts a request that was refused at a door.
func DoorRefused(why DoorRefusal) { doorRefusals.WithLabelValues(string(why)).Inc() }
