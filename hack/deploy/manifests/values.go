package manifests

// Form is how a value of the chart stands in an object.
type Form int

// A Scalar is a string, a number or a truth value. A Block is a map or a list; its
// key is left out where it is empty. A Splice adds the items of a list to those
// that are there. A Text is part of strings all over the objects.
const (
	Scalar Form = iota
	Block
	Splice
	Text
)

// Value is what the user of the chart may set.
type Value struct {
	// Name is its path in values.yaml, with dots.
	Name string
	// Doc becomes its comment.
	Doc string
	// Form says how it is put in.
	Form Form
	// Default of a value that no object holds: of a condition, of a Block or a
	// Splice that the kustomization leaves out, of a Text.
	// Of all others the default is what the object holds.
	Default any
	// Required says what to set where the default isn't enough.
	Required string
	// Replaces is what a Text stands for in the strings of all objects.
	Replaces string
	// At are the places.
	At []Place
}

// Place is where a value stands.
type Place struct {
	// Kind and Name of the object.
	Kind, Name string
	// Path as in Item.
	Path []string
}

func onServer(path ...string) Place { return Place{"Deployment", Name, path} }
func onEtcd(path ...string) Place   { return Place{"StatefulSet", EtcdName, path} }

func onController(path ...string) Place { return Place{"Deployment", ControllerName, path} }

// Values are all values of the chart, as values.yaml lists them.
func Values() []Value {
	member := path(pod, "containers", "["+etcdContainer+"]")
	acting := path(pod, "containers", "["+controllerContainer+"]")
	return []Value{
		{
			Name: "image", Doc: "The image of server and controller: push yours and name it here, best by its digest.",
			At: []Place{onServer(path(container, "image")...), onController(path(acting, "image")...), onEtcd(path(pod, "initContainers", "["+certsInitName+"]", "image")...)},
		},
		{
			Name: "imagePullSecrets", Doc: "For a registry that asks who you are: [{name: …}].", Form: Block, Default: []any{},
			At: []Place{onServer(path(pod, "imagePullSecrets")...), onController(path(pod, "imagePullSecrets")...), onEtcd(path(pod, "imagePullSecrets")...)},
		},
		{Name: "replicas", Doc: "Each serves everything; one of them publishes statuses.", At: []Place{onServer("spec", "replicas")}},
		{
			Name: "priorityClassName", Doc: "While no replica serves, no namespace of the cluster can be deleted.",
			At: []Place{
				onServer(path(pod, "priorityClassName")...), onEtcd(path(pod, "priorityClassName")...),
				{"ResourceQuota", Name + "-critical", []string{"spec", "scopeSelector", "matchExpressions", "0", "values", "0"}},
			},
		},
		{Name: "resources", Doc: "Of the server.", Form: Block, At: []Place{onServer(path(container, "resources")...)}},
		{Name: "extraArgs", Doc: "Further flags of the server, such as --pds-request-rate=10 or -v=2.", Form: Splice, Default: []any{}, At: []Place{onServer(path(container, "args")...)}},
		{Name: "extraVolumes", Doc: "Volumes for further flags: an audit policy, an encryption configuration.", Form: Splice, Default: []any{}, At: []Place{onServer(path(pod, "volumes")...)}},
		{Name: "extraVolumeMounts", Doc: "Where they are mounted in the server.", Form: Splice, Default: []any{}, At: []Place{onServer(path(container, "volumeMounts")...)}},
		{Name: "podAnnotations", Doc: "Of the server's pods.", Form: Block, Default: map[string]any{}, At: []Place{onServer("spec", "template", "metadata", "annotations")}},
		{Name: "nodeSelector", Doc: "Of all pods.", Form: Block, Default: map[string]any{}, At: []Place{onServer(path(pod, "nodeSelector")...), onController(path(pod, "nodeSelector")...), onEtcd(path(pod, "nodeSelector")...)}},
		{Name: "tolerations", Doc: "Of all pods.", Form: Block, Default: []any{}, At: []Place{onServer(path(pod, "tolerations")...), onController(path(pod, "tolerations")...), onEtcd(path(pod, "tolerations")...)}},
		{
			Name: "credentials.namespace", Doc: "Holds the credentials of accounts. The server may read every Secret in it.",
			Form: Text, Default: CredentialsNamespace, Replaces: CredentialsNamespace,
		},
		{Name: "credentials.createNamespace", Doc: "Make that namespace. It stays when the release goes.", Form: Text, Default: true},
		{
			Name: "controller.enabled", Form: Text, Default: true,
			Doc: "Run the controller, which has contracts fulfilled. With false, nothing that is declared runs.",
		},
		{Name: "controller.replicas", Doc: "One of them acts, the others wait to take over.", At: []Place{onController("spec", "replicas")}},
		{Name: "controller.resources", Doc: "Of the controller.", Form: Block, At: []Place{onController(path(acting, "resources")...)}},
		{Name: "controller.extraArgs", Doc: "Further flags of the controller, such as --contracts-kubeconfig=/etc/contracts/kubeconfig.", Form: Splice, Default: []any{}, At: []Place{onController(path(acting, "args")...)}},
		{Name: "controller.extraVolumes", Doc: "Volumes for those.", Form: Block, Default: []any{}, At: []Place{onController(path(pod, "volumes")...)}},
		{Name: "controller.extraVolumeMounts", Doc: "Where they are mounted in the controller.", Form: Block, Default: []any{}, At: []Place{onController(path(acting, "volumeMounts")...)}},
		{Name: "controller.podAnnotations", Doc: "Of the controller's pods.", Form: Block, Default: map[string]any{}, At: []Place{onController("spec", "template", "metadata", "annotations")}},
		{Name: "networkPolicy.enabled", Doc: "Limit who reaches the pods and whom they reach.", Form: Text, Default: true},
		{Name: "etcd.enabled", Doc: "Run an etcd of one member. With false, externalEtcd says where etcd is.", Form: Text, Default: true},
		{Name: "etcd.image", Doc: "Of etcd itself.", At: []Place{onEtcd(path(member, "image")...)}},
		{
			Name: "etcd.storage", Doc: "Size of its volume. It can't be changed later, but by way of the volume itself.",
			At: []Place{onEtcd("spec", "volumeClaimTemplates", "[data]", "spec", "resources", "requests", "storage")},
		},
		{
			Name: "etcd.storageClassName", Doc: "Of its volume; empty: the cluster's default class.", Form: Block, Default: "",
			At: []Place{onEtcd("spec", "volumeClaimTemplates", "[data]", "spec", "storageClassName")},
		},
		{Name: "etcd.resources", Doc: "Of etcd.", Form: Block, At: []Place{onEtcd(path(member, "resources")...)}},
		{
			Name: "externalEtcd.servers", Doc: "Where etcd is if etcd.enabled is false: https URLs with commas between them.\n" +
				"The Secret " + EtcdClientSecret + " holds ca.crt, tls.crt and tls.key for it.",
			Form: Text, Default: "", Replaces: ExternalEtcdServers, Required: "set externalEtcd.servers, or etcd.enabled",
		},
		{Name: "certManager.enabled", Doc: "Have cert-manager make the serving certificate. Else the server makes its own.", Form: Text, Default: false},
	}
}
