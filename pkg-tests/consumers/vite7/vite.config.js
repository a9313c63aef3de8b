import lodger from "lodger/rollup";

export default { plugins: [lodger()] };
