;;; drive.el --- Type into Emacs and accept what eglot offers  -*- lexical-binding: t; -*-

;; Loaded after the set-up of the README. Reads cases as JSON from the file in MIDTOKEN_CASES:
;; a list of {file, offset, typed, entry, kill}, the offset in characters. Every file is visited, its
;; text typed, completed and saved; what was accepted is printed as one line of JSON for each. With an
;; entry, that one is taken from the list as Emacs' completion styles show it. With kill, the server is
;; killed while it answers, and the text is typed meanwhile.

(require 'json)

(defvar drive-limit 120 "Seconds after which waiting is given up.")
(defvar drive-ready nil "Whether the server has said that its model is loaded.")

(cl-defmethod eglot-handle-notification :after
  (_server (_method (eql midtoken/status)) &key state &allow-other-keys)
  (when (member state '("ready" "busy")) (setq drive-ready t))
  (when (equal state "error") (error "The server has no model")))

(defun drive-wait (what condition)
  "Wait until CONDITION holds; WHAT is said when it does not in time."
  (with-timeout (drive-limit (error "Waited in vain for %s" what))
    (while (not (funcall condition)) (accept-process-output nil 0.05))))

(defun drive-take (entry)
  "Take an ENTRY of the list as completion commands do; nothing if the list does not show it."
  (pcase-let* ((`(,start ,end ,table . ,more) (eglot-completion-at-point))
               (typed (buffer-substring-no-properties start end))
               (found (completion-all-completions typed table nil (length typed)))
               (entries (progn (when (consp found) (setcdr (last found) nil)) found))
               (chosen (seq-find (lambda (one) (string= one entry)) entries)))
    (when chosen
      (delete-region start end)
      (insert chosen)
      (funcall (plist-get more :exit-function) chosen 'finished)
      (plist-get (get-text-property 0 'eglot--lsp-item chosen) :detail))))

(defun drive-kill (typed)
  "Kill the server while it answers, go on with TYPED, and wait until eglot has a new one."
  (let ((server (eglot-current-server)))
    (jsonrpc-async-request server :textDocument/completion (eglot--CompletionParams)
                           :success-fn #'ignore :error-fn #'ignore :timeout-fn #'ignore)
    (setq drive-ready nil)
    (signal-process (jsonrpc--process server) 'KILL)
    (insert typed)
    (drive-wait "a new server" (lambda () drive-ready))))

(defun drive-case (file offset typed entry kill)
  "Type TYPED so many characters into FILE (OFFSET), complete and save.
An ENTRY is taken from the list.  With KILL, the server is killed meanwhile."
  (find-file file)
  (unless (eglot-managed-p) (apply #'eglot (eglot--guess-contact)))
  (drive-wait "the model" (lambda () drive-ready))
  (goto-char (+ (point-min) offset))
  (if kill (drive-kill typed) (insert typed))
  (if entry
      (let ((detail (drive-take entry)))
        (save-buffer)
        (princ (json-encode (list :item (or detail "")
                                  :encoding (symbol-name eglot-current-linepos-function))))
        (terpri))
    (drive-first)))

(defun drive-first ()
  "Complete with the only entry, and save."
  (let* ((capf (eglot-completion-at-point))
         (start (nth 0 capf))
         (item (car (all-completions (buffer-substring start (point)) (nth 2 capf))))
         (answer (and item (get-text-property 0 'eglot--lsp-item item))))
    ;; One candidate: the command inserts it and lets eglot apply the item's edit.
    (let ((completion-at-point-functions '(eglot-completion-at-point)))
      (completion-at-point))
    (let ((coding-system-require-warning nil)) (save-buffer))
    (princ (json-encode
            (list :item (if answer (plist-get (plist-get answer :textEdit) :newText) "")
                  :encoding (symbol-name eglot-current-linepos-function))))
    (terpri)))

(setq eglot-sync-connect t
      eglot-connect-timeout drive-limit
      jsonrpc-default-request-timeout drive-limit
      native-comp-jit-compilation nil
      make-backup-files nil
      auto-save-default nil
      create-lockfiles nil
      python-indent-guess-indent-offset-verbose nil)

(dolist (each (with-temp-buffer
                (insert-file-contents (getenv "MIDTOKEN_CASES"))
                (json-parse-buffer :object-type 'plist :array-type 'list)))
  (drive-case (plist-get each :file) (plist-get each :offset) (plist-get each :typed)
              (plist-get each :entry) (plist-get each :kill)))
(eglot-shutdown-all)
;;; drive.el ends here
