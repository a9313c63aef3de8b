// What the programs of the benchmark share: how samples become a figure, and how goals are told.

export const median = (list) => {
  const sorted = [...list].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

/**
 * Whether all of them are reached.
 * @param {[goal: string, value: number, limit: number][]} goals
 */
export function reportGoals(goals) {
  for (const [goal, value, limit] of goals) console.log(`${value <= limit ? "reached" : "MISSED "}  ${goal}: ${value.toFixed(2)}`);
  return goals.every(([, value, limit]) => value <= limit);
}

/** The same for a file of results. */
export const judged = (goals) => goals.map(([goal, value, limit]) => ({ goal, value, limit, reached: value <= limit }));
