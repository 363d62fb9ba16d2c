package apiserver

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// growth begins the comparison of an update that may be refused for making the object
// larger: one of a spec or of metadata. The old object is measured before anybody gets
// it.
func (s *quotaStorage) growth(ctx context.Context, old runtime.Object) (func(obj runtime.Object) (int, error), error) {
	nothing := func(runtime.Object) (int, error) { return 0, nil }
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	if !ok || info.Subresource != "" || info.Verb != "update" && info.Verb != "patch" {
		return nothing, nil // a status, or a deletion that finalizers hold
	}
	if ws, _ := repostore.WorkspaceFrom(ctx); !s.usage.LimitsBytes(ws) {
		return nothing, nil
	}
	m, err := meta.Accessor(old)
	if err != nil {
		return nil, err
	}
	held := len(m.GetFinalizers())
	was, err := s.counted(old)
	if err != nil {
		return nil, err
	}
	return func(obj runtime.Object) (int, error) {
		m, err := meta.Accessor(obj)
		if err != nil {
			return 0, err
		}
		is, err := s.counted(obj)
		if m.GetDeletionTimestamp() != nil && len(m.GetFinalizers()) < held {
			is -= lettingGo
		}
		return is - was, err
	}, nil
}

// lettingGo is how many bytes more an object that goes may have by an update that takes a
// finalizer off: whoever lets it go is named in it, and must not be held up.
const lettingGo = 1 << 10

// freeManagers is how many bytes of field managers of an object don't count: a write that
// removes something names a new one.
const freeManagers = 16 << 10

// counted is the size that an update must not enlarge: of the object as if it had come to
// its end, so that nothing which brings it there makes it larger. Managers beyond what is
// free count: each that applies what is there already makes the object larger.
func (s *quotaStorage) counted(obj runtime.Object) (int, error) {
	obj, err := ended(obj)
	if err != nil {
		return 0, err
	}
	all, err := s.encoded(obj)
	if err != nil {
		return 0, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return 0, err
	}
	m.SetManagedFields(nil)
	without, err := s.encoded(obj)
	return without + max(0, all-without-freeManagers), err
}

// ended is a copy of obj with everything done to it that brings something to its end, or
// keeps it from running: its contracts are released, its record stays behind, its
// repository is asked nothing. The companion controller's finalizer, once, is no part of
// it, nor what infra-apiserver kcp release notes, nor what counts versions. So each of these
// can be written in a workspace that is full, and none makes an object larger by more than
// a word.
func ended(obj runtime.Object) (runtime.Object, error) {
	obj = obj.DeepCopyObject()
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	m.SetResourceVersion("")
	m.SetGeneration(0)
	finalizers := m.GetFinalizers()
	if i := slices.Index(finalizers, socialweb.FinalizerRelease); i >= 0 { // a list may have it many times
		m.SetFinalizers(slices.Delete(finalizers, i, i+1))
	}
	if notes := m.GetAnnotations(); notes[socialweb.AnnotationReleasing] == "true" {
		delete(notes, socialweb.AnnotationReleasing)
		m.SetAnnotations(notes)
	}
	switch o := obj.(type) {
	case *socialweb.Infra:
		endSpec(&o.Spec)
	case *socialweb.EphemeralInfra:
		endSpec(&o.Spec.InfraSpec)
	case *socialweb.InfraCollection:
		o.Spec.Execution = socialweb.ExecutionObserveOnly
	case *socialweb.EphemeralInfraCollection:
		o.Spec.Execution = socialweb.ExecutionObserveOnly
	case *socialweb.AtprotoRepo:
		o.Spec.Default, o.Spec.Access, o.Spec.StaleReads = false, socialweb.AccessNone, socialweb.StaleReadsAllow
		o.Spec.Execution = socialweb.ExecutionObserveOnly
	case *socialweb.ComputeContract:
		o.Spec.Release = true
	}
	return obj, nil
}

func endSpec(s *socialweb.InfraSpec) {
	for i := range s.Contracts {
		s.Contracts[i].State = socialweb.ContractReleased
	}
	if s.Record != nil {
		s.Record.DeletionPolicy = socialweb.DeletionRetain
	}
}

// encoded is how many bytes an object has, encoded for etcd.
func (s *quotaStorage) encoded(obj runtime.Object) (int, error) {
	data, err := runtime.Encode(s.codec, obj)
	if err != nil {
		return 0, fmt.Errorf("measure the object: %w", err)
	}
	return len(data), nil
}
