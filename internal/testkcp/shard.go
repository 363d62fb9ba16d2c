package testkcp

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Shard has workspaces, and shows those that bind the export.
type Shard struct {
	kcp        *KCP
	root       string
	workspaces map[string]*workspace
}

// workspace that binds the export.
type workspace struct {
	accepted bool
	secrets  map[string]*corev1.Secret // by namespace/name
}

// URL of the shard's virtual workspace.
func (s *Shard) URL() string { return s.kcp.server.URL + s.root }

// Bind makes a workspace bind the export, and accept its permission claim or not.
func (s *Shard) Bind(ws string, accept bool) {
	s.kcp.mu.Lock()
	defer s.kcp.mu.Unlock()
	if s.workspaces[ws] == nil {
		s.workspaces[ws] = &workspace{secrets: map[string]*corev1.Secret{}}
	}
	s.workspaces[ws].accepted = accept
}

// Unbind makes it bind the export no more.
func (s *Shard) Unbind(ws string) {
	s.kcp.mu.Lock()
	defer s.kcp.mu.Unlock()
	delete(s.workspaces, ws)
}

// PutSecret sets a Secret of a workspace that binds the export. Only one that has the
// label which the claim was accepted for is shown.
func (s *Shard) PutSecret(ws, namespace, name string, labelled bool, data map[string]string) {
	s.kcp.mu.Lock()
	defer s.kcp.mu.Unlock()
	o := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Annotations: map[string]string{"kcp.io/cluster": ws}},
		Data:       map[string][]byte{},
	}
	if labelled {
		o.Labels = map[string]string{"claimed": "true"}
	}
	for k, v := range data {
		o.Data[k] = []byte(v)
	}
	s.workspaces[ws].secrets[namespace+"/"+name] = o
}

var (
	secretsResource  = schema.GroupResource{Resource: "secrets"}
	bindingsResource = schema.GroupResource{Group: apisv1alpha2.SchemeGroupVersion.Group, Resource: "apibindings"}
)

// errDenied is what kcp says of every refusal.
var errDenied = errors.New("access denied")

// serve the virtual workspace.
func (s *Shard) serve(w http.ResponseWriter, r *http.Request, ws, path string) {
	parts := strings.Split(path, "/")
	switch {
	case path == "apis/apis.kcp.io/v1alpha2/apibindings":
		s.bindings(w, r, ws)
	case !s.kcp.claims:
		http.NotFound(w, r)
	case len(parts) == 6 && strings.HasPrefix(path, "api/v1/namespaces/") && parts[4] == "secrets":
		s.secret(w, ws, parts[3], parts[5])
	default:
		http.NotFound(w, r)
	}
}

func (s *Shard) secret(w http.ResponseWriter, ws, namespace, name string) {
	at := s.workspaces[ws]
	if at == nil || !at.accepted {
		Refuse(w, apierrors.NewForbidden(secretsResource, name, errDenied))
		return
	}
	if o := at.secrets[namespace+"/"+name]; o != nil && o.Labels["claimed"] != "" {
		answer(w, o)
		return
	}
	Refuse(w, apierrors.NewNotFound(secretsResource, name))
}

// bindings of one workspace, or of all in pages. kcp refuses where one has none.
func (s *Shard) bindings(w http.ResponseWriter, r *http.Request, ws string) {
	all := sorted(s.workspaces)
	if ws != "*" {
		if s.workspaces[ws] == nil {
			Refuse(w, apierrors.NewForbidden(bindingsResource, "", errDenied))
			return
		}
		all = []string{ws}
	}
	list := &apisv1alpha2.APIBindingList{TypeMeta: metav1.TypeMeta{Kind: "APIBindingList", APIVersion: apisv1alpha2.SchemeGroupVersion.String()}}
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	to := len(all)
	if limit > 0 && from+limit < to {
		to = from + limit
		list.Continue = strconv.Itoa(to)
	}
	for _, name := range all[min(from, len(all)):to] {
		b := apisv1alpha2.APIBinding{ObjectMeta: metav1.ObjectMeta{Name: "contracts", Annotations: map[string]string{"kcp.io/cluster": name}}}
		b.Spec.Reference.Export = &apisv1alpha2.ExportBindingReference{Path: "root:provider", Name: Export}
		b.Status.APIExportClusterName, b.Status.Phase = Provider, apisv1alpha2.APIBindingPhaseBound
		list.Items = append(list.Items, b)
	}
	answer(w, list)
}
