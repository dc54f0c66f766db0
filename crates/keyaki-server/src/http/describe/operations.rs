//! What those who run it may ask for.

use super::sketch::Sketch;
use crate::http::problem;
use crate::http::shapes::{ProblemExplained, Status};

pub const TAG: &str = "Operations";

pub fn alive(s: Sketch) -> Sketch {
    s.says("health", TAG, "Whether the server lives", "").answers_json::<Status>(200, "It does.")
}

pub fn ready(s: Sketch) -> Sketch {
    s.says("readiness", TAG, "Whether the server answers", "503 while it stops.")
        .answers_json::<Status>(200, "It does.")
}

pub fn problem(s: Sketch) -> Sketch {
    s.says("explainProblem", TAG, "What a kind of problem means", "")
        .answers_json::<ProblemExplained>(200, "The kind of problem.")
}

pub fn openapi(s: Sketch) -> Sketch {
    s.says("openapi", TAG, "This description", "").answers_text(
        200,
        "application/json",
        "OpenAPI 3.1.",
    )
}

pub fn docs(s: Sketch) -> Sketch {
    s.says("docs", TAG, "A page to try all this in a browser", "")
        .answers_text(200, "text/html", "The page.")
        .heads(200, &["Content-Security-Policy", "Cache-Control"])
}

pub fn asset(s: Sketch) -> Sketch {
    s.says("docsAsset", TAG, "What that page is made of", "")
        .answers_text(200, "text/css", "A part of it.")
        .also_text(200, "text/javascript")
        .also_text(200, "image/svg+xml")
        .heads(200, &["Content-Security-Policy", "Cache-Control"])
}

pub fn metrics(s: Sketch) -> Sketch {
    s.says(
        "metrics",
        TAG,
        "Metrics for Prometheus",
        "For admins, unless the configuration says otherwise.",
    )
    .answers_text(200, "text/plain", "All of them.")
    .refuses(&[&problem::FORBIDDEN])
}
