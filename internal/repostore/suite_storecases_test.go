package repostore

import (
	"context"
	"testing"

	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage/etcd3"
	st "k8s.io/apiserver/pkg/storage/testing"
)

// Why a case can't apply, or what is particular about it.
const (
	noTTL          = "a record can't vanish by a lease, so a ttl is refused with 422 (ErrTTL), which TestTTLIsRefused asserts"
	cacheDecoded   = "the case corrupts values in etcd; the Cacher answers from objects that it decoded before"
	cacheUnlimited = "the case needs a continue token of a list at resourceVersion 0, which the Cacher answers whole, whatever the limit"
	cacheHistory   = "the Cacher watches from its own history, which a compaction of etcd doesn't shorten; all before that step runs"
	cacheProgress  = "the Cacher turns etcd's progress into bookmarks of its own and ignores ProgressNotify"
	misnamed       = "without the consistency check: its objects are not what their keys say"
	stockBookmarks = "the stock store sends no bookmarks of its own; the Cacher makes them"
)

// storeCases are the functions of store_tests.go.
func storeCases() []suiteCase {
	return []suiteCase{
		{function: "RunTestCreate", run: func(ctx context.Context, t *testing.T, r suiteRun) { st.RunTestCreate(ctx, t, r.s, r.stored) }},
		{function: "RunTestCreateWithTTL", notRaw: noTTL, notCached: noTTL},
		{function: "RunTestCreateWithKeyExist", run: plain(st.RunTestCreateWithKeyExist)},
		{function: "RunTestGet", note: "one of its updates asks for a ttl, of an object that is read at once: left out", run: func(ctx context.Context, t *testing.T, r suiteRun) { st.RunTestGet(ctx, t, withoutTTL{r.s}) }},
		{function: "RunTestUnconditionalDelete", run: plain(st.RunTestUnconditionalDelete)},
		{function: "RunTestConditionalDelete", run: plain(st.RunTestConditionalDelete)},
		{function: "RunTestDeleteWithSuggestion", run: plain(st.RunTestDeleteWithSuggestion)},
		{function: "RunTestDeleteWithSuggestionAndConflict", run: plain(st.RunTestDeleteWithSuggestionAndConflict)},
		{function: "RunTestDeleteWithConflict", run: plain(st.RunTestDeleteWithConflict)},
		{function: "RunTestDeleteWithSuggestionOfDeletedObject", run: plain(st.RunTestDeleteWithSuggestionOfDeletedObject)},
		{function: "RunTestValidateDeletionWithSuggestion", run: plain(st.RunTestValidateDeletionWithSuggestion)},
		{function: "RunTestValidateDeletionWithOnlySuggestionValid", run: plain(st.RunTestValidateDeletionWithOnlySuggestionValid)},
		{function: "RunTestPreconditionalDeleteWithSuggestion", run: plain(st.RunTestPreconditionalDeleteWithSuggestion)},
		{function: "RunTestPreconditionalDeleteWithOnlySuggestionPass", run: plain(st.RunTestPreconditionalDeleteWithOnlySuggestionPass)},
		{function: "RunTestDeleteWithConflictAndMissingExpectedTransformOrDecodeError", variant: "transform", before: allowUnsafeDeletion,
			run: func(ctx context.Context, t *testing.T, r suiteRun) {
				st.RunTestDeleteWithConflictAndMissingExpectedTransformOrDecodeError(ctx, t, r.s, r.failTransform.Store)
			}},
		{function: "RunTestDeleteWithConflictAndMissingExpectedTransformOrDecodeError", variant: "decode", before: allowUnsafeDeletion,
			run: func(ctx context.Context, t *testing.T, r suiteRun) {
				st.RunTestDeleteWithConflictAndMissingExpectedTransformOrDecodeError(ctx, t, r.s, r.codec.fail.Store)
			}},
		{function: "RunTestDeleteExpectedTransformOrDecodeError", variant: "transform", before: allowUnsafeDeletion,
			run: func(ctx context.Context, t *testing.T, r suiteRun) {
				st.RunTestDeleteExpectedTransformOrDecodeError(ctx, t, r.s, r.failTransform.Store)
			}},
		{function: "RunTestDeleteExpectedTransformOrDecodeError", variant: "decode", before: allowUnsafeDeletion,
			run: func(ctx context.Context, t *testing.T, r suiteRun) {
				st.RunTestDeleteExpectedTransformOrDecodeError(ctx, t, r.s, r.codec.fail.Store)
			}},
		{function: "RunTestDeleteWithSuggestionAndMissingExpectedTransformOrDecodeError", before: allowUnsafeDeletion,
			run: func(ctx context.Context, t *testing.T, r suiteRun) {
				st.RunTestDeleteWithSuggestionAndMissingExpectedTransformOrDecodeError(ctx, t, r.s)
			}},
		{function: "RunTestList", note: "upstream leaves two of its rows out behind a cache", run: func(ctx context.Context, t *testing.T, r suiteRun) {
			st.RunTestList(ctx, t, r.s, r.compact, r.cached, r.lists)
		}},
		{function: "RunTestConsistentList", run: func(ctx context.Context, t *testing.T, r suiteRun) {
			st.RunTestConsistentList(ctx, t, r.s, r.increaseRV, r.cached, true, r.cached)
		}},
		{function: "RunTestGetListNonRecursive", run: func(ctx context.Context, t *testing.T, r suiteRun) {
			st.RunTestGetListNonRecursive(ctx, t, r.increaseRV, r.s)
		}},
		{function: "RunTestGetListRecursivePrefix", run: plain(st.RunTestGetListRecursivePrefix)},
		{function: "RunTestGetListWithErrorAggregation", before: corruptLists, options: suiteOptions{bareKeys: true}, notCached: cacheDecoded, run: func(ctx context.Context, t *testing.T, r suiteRun) {
			r.s.Interface = etcd3.NewStoreWithUnsafeCorruptObjectDeletion(r.s.Interface, podResource)
			st.RunTestGetListWithErrorAggregation(ctx, t, r.s, corruptError(t))
		}},
		{function: "RunTestGetListWithoutErrorAggregation",
			before: func(t *testing.T) {
				corruptLists(t)
				setGate(t, features.AllowUnsafeMalformedObjectDeletion, false)
			},
			options: suiteOptions{bareKeys: true}, notCached: cacheDecoded,
			run: func(ctx context.Context, t *testing.T, r suiteRun) {
				st.RunTestGetListWithoutErrorAggregation(ctx, t, r.s, corruptError(t))
			}},
		{function: "RunTestListContinuation", run: func(ctx context.Context, t *testing.T, r suiteRun) {
			st.RunTestListContinuation(ctx, t, r.s, r.validCalls())
		}},
		{function: "RunTestListPaginationRareObject",
			// With it the store reads the compaction key, which would be counted.
			before: func(t *testing.T) { setGate(t, features.ListFromCacheSnapshot, false) },
			run: func(ctx context.Context, t *testing.T, r suiteRun) {
				st.RunTestListPaginationRareObject(ctx, t, r.s, r.validCalls())
			}},
		{function: "RunTestListContinuationWithFilter", run: func(ctx context.Context, t *testing.T, r suiteRun) {
			st.RunTestListContinuationWithFilter(ctx, t, r.s, r.validCalls())
		}},
		{function: "RunTestListInconsistentContinuation", notCached: cacheUnlimited, run: func(ctx context.Context, t *testing.T, r suiteRun) {
			st.RunTestListInconsistentContinuation(ctx, t, r.s, r.compact)
		}},
		{function: "RunTestListResourceVersionMatch", options: suiteOptions{stockOnly: true},
			run: func(ctx context.Context, t *testing.T, r suiteRun) { st.RunTestListResourceVersionMatch(ctx, t, r.s) }},
		{function: "RunTestGuaranteedUpdate", run: func(ctx context.Context, t *testing.T, r suiteRun) {
			st.RunTestGuaranteedUpdate(ctx, t, r.s, r.stored)
		}},
		{function: "RunTestGuaranteedUpdateWithTTL", notRaw: noTTL, notCached: noTTL},
		{function: "RunTestGuaranteedUpdateChecksStoredData", run: func(ctx context.Context, t *testing.T, r suiteRun) {
			st.RunTestGuaranteedUpdateChecksStoredData(ctx, t, r.s)
		}},
		{function: "RunTestGuaranteedUpdateWithConflict", note: misnamed, before: withoutCheck, run: plain(st.RunTestGuaranteedUpdateWithConflict)},
		{function: "RunTestGuaranteedUpdateWithSuggestionAndConflict", run: plain(st.RunTestGuaranteedUpdateWithSuggestionAndConflict)},
		{function: "RunTestTransformationFailure", notCached: cacheDecoded, run: func(ctx context.Context, t *testing.T, r suiteRun) {
			st.RunTestTransformationFailure(ctx, t, r.s)
		}},
		{function: "RunTestStats", variant: "counted", before: func(t *testing.T) { setGate(t, features.SizeBasedListCostEstimate, false) },
			run: func(ctx context.Context, t *testing.T, r suiteRun) {
				st.RunTestStats(ctx, t, r.s, r.codec, stampStripper{r.stock}, false)
			}},
		{function: "RunTestStats", variant: "sized", run: func(ctx context.Context, t *testing.T, r suiteRun) {
			if !r.cached { // the Cacher enables it itself
				if err := r.s.EnableResourceSizeEstimation(r.keys); err != nil {
					t.Fatal(err)
				}
			}
			st.RunTestStats(ctx, t, r.s, r.suiteEnv.codec, stampStripper{r.stock}, true)
		}},
		{function: "RunTestListPaging", run: plain(st.RunTestListPaging)},
		{function: "RunTestNamespaceScopedList", options: suiteOptions{indexed: true}, run: plain(st.RunTestNamespaceScopedList)},
		{function: "RunTestCompactRevision", run: func(ctx context.Context, t *testing.T, r suiteRun) {
			st.RunTestCompactRevision(ctx, t, r.s, r.increaseRV, r.compact)
		}},
		{function: "RunTestKeySchema", note: misnamed, before: withoutCheck, run: plain(st.RunTestKeySchema)},
	}
}

// validCalls counts what a list costs where no cache answers.
func (r suiteRun) validCalls() st.CallsValidation {
	if r.cached {
		return noCalls
	}
	return r.calls
}
