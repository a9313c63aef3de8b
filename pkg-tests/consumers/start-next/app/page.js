// What stands where the template of create-next-app has its own page. A block of the documents has to take its place: Next takes
// this one before a `page.jsx` beside it.
export default function Home() {
  return <h1>To get started, edit the page.js file.</h1>;
}
