// One sample is selected at a time; widgets of one group share it.

const selections = {};

function selectionOf(group) {
  if (group && selections[group]) return selections[group];
  const watchers = [];
  const selection = {
    index: 0,
    describe: null, // by the viewer of the group: from an index to the nodes of a tooltip
    watch(watcher) { watchers.push(watcher); },
    set(index) {
      if (index === selection.index) return;
      selection.index = index;
      watchers.forEach((watcher) => watcher(index));
    },
  };
  if (group) selections[group] = selection;
  return selection;
}
