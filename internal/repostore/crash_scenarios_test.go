package repostore

import "context"

// is tells what object and record show: the text in both, and the labels.
func is(text string, labels ...string) func(*widget, map[string]any) bool {
	return func(obj *widget, record map[string]any) bool {
		return obj != nil && record != nil && obj.Spec.Text == text && record["text"] == text && hasLabels(obj, labels...)
	}
}

// lacks tells that both show a text, and that a label is not there.
func lacks(text, label string) func(*widget, map[string]any) bool {
	return func(obj *widget, record map[string]any) bool { return is(text)(obj, record) && !hasLabels(obj, label) }
}

func absentEverywhere(obj *widget, record map[string]any) bool { return obj == nil && record == nil }

func change(f func(*widget) error) func(context.Context, *replica, string) error {
	return func(ctx context.Context, r *replica, name string) error {
		_, err := r.update(ctx, name, "", f)
		return err
	}
}

func erase(ctx context.Context, r *replica, name string) error { return r.delete(ctx, name) }

func nothingBefore(context.Context, *replica, string) error { return nil }

// crashScenarios are the operations of the crash matrix.
var crashScenarios = map[string]crashScenario{
	"create": {before: nothingBefore, act: crashCreate, whole: is("created", "created"), nothing: absentEverywhere},
	"update": {
		before: crashCreate, act: change(public("updated", "updated")),
		whole: is("updated", "created", "updated"), nothing: lacks("created", "updated"),
	},
	"update after a foreign edit": {
		before: inOrder(crashCreate, foreignPut("foreign")), act: change(func(w *widget) error {
			setItem(w, "updated")
			setLabel(w, "updated")
			return nil
		}),
		whole: func(obj *widget, record map[string]any) bool {
			return is("foreign", "created", "updated")(obj, record) && obj.Spec.Items["updated"] != ""
		},
		nothing: func(obj *widget, record map[string]any) bool {
			return lacks("foreign", "updated")(obj, record) && obj.Spec.Items["updated"] == ""
		},
	},
	"private update": {
		before: crashCreate, act: change(func(w *widget) error { setLabel(w, "private"); return nil }),
		whole: is("created", "created", "private"), nothing: lacks("created", "private"),
	},
	"status": {
		before: inOrder(crashCreate, change(func(w *widget) error { w.Status.Phase = "Held"; return nil })),
		act:    func(ctx context.Context, r *replica, name string) error { return r.store.publishOne(ctx, r.ref(name)) },
		whole: func(obj *widget, record map[string]any) bool {
			return is("created", "created")(obj, record) && obj.Status.Phase == "Held" && record["status"] != nil
		},
		nothing: func(obj *widget, record map[string]any) bool {
			return is("created", "created")(obj, record) && obj.Status.Phase == "Held" && record["status"] == nil
		},
	},
	"delete": {before: crashCreate, act: erase, whole: absentEverywhere, nothing: is("created", "created")},
	"delete after a foreign edit": {
		before: inOrder(crashCreate, foreignPut("foreign")), act: erase,
		whole: absentEverywhere, nothing: is("foreign", "created"),
	},
	"retain": {
		before: inOrder(crashCreate, change(func(w *widget) error { w.Spec.Record.Retain = true; return nil })), act: erase,
		whole:   func(obj *widget, record map[string]any) bool { return obj == nil && record != nil },
		nothing: is("created", "created"),
	},
	"unbind": {
		before: crashCreate, act: change(unbind),
		whole: func(obj *widget, record map[string]any) bool {
			return is("created", "created")(obj, record) && obj.Status.Record == nil
		},
		nothing: func(obj *widget, record map[string]any) bool {
			return is("created", "created")(obj, record) && obj.Status.Record != nil
		},
	},
	// Whoever settles what a dead process left may die over it too.
	"settling of a create that landed": {
		before: dying("create.before-view", crashCreate), act: sweepOnce, late: true, whole: is("created", "created"),
	},
	"settling of a create that did not land": {
		before: dying("create.before-put", crashCreate), act: sweepOnce, late: true, whole: absentEverywhere,
	},
	"settling of an update that landed": {
		before: inOrder(crashCreate, dying("update.before-view", change(public("updated", "updated")))), act: sweepOnce, late: true,
		whole: is("updated", "created", "updated"),
	},
	"settling of an update that did not land": {
		before: inOrder(crashCreate, dying("update.before-put", change(public("updated", "updated")))), act: sweepOnce, late: true,
		whole: lacks("created", "updated"),
	},
	"settling of a delete that landed": {
		before: inOrder(crashCreate, dying("delete.before-view", erase)), act: sweepOnce, late: true, whole: absentEverywhere,
	},
	"settling of a delete that did not land": {
		before: inOrder(crashCreate, dying("delete.before-delete", erase)), act: sweepOnce, late: true, whole: is("created", "created"),
	},
	// A private write that joins what a dead process left, whatever became of that.
	"private update under an update that landed": {
		before: inOrder(crashCreate, dying("update.before-view", change(public("updated", "updated")))), late: true,
		act:   change(func(w *widget) error { setLabel(w, "private"); return nil }),
		whole: is("updated", "created", "updated", "private"), nothing: func(obj *widget, record map[string]any) bool {
			return is("updated", "created", "updated")(obj, record) && !hasLabels(obj, "private")
		},
	},
	"private update under an update that did not land": {
		before: inOrder(crashCreate, dying("update.before-put", change(public("updated", "updated")))), late: true,
		act:   change(func(w *widget) error { setLabel(w, "private"); return nil }),
		whole: is("created", "created", "private"), nothing: lacks("created", "private"),
	},
	// What an ingest leaves undone the next one does: it is whole in any case.
	"ingest of a creation": {before: foreignPut("foreign"), act: listOnce, whole: is("foreign")},
	"ingest of an edit":    {before: inOrder(crashCreate, foreignPut("foreign")), act: listOnce, whole: is("foreign", "created")},
	"ingest of a deletion": {before: inOrder(crashCreate, foreignDelete), act: listOnce, whole: absentEverywhere},
	"ingest of a re-creation": {
		before: inOrder(crashCreate, foreignDelete, listOnce, foreignPut("again")), act: listOnce, whole: is("again"),
	},
}
