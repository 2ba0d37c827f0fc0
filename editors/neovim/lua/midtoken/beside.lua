-- Ghost text in the middle of a line: beside what follows the cursor, and not on top of it.
--
-- Neovim draws a suggestion that has a range over the text that follows: `os.path.get(name)` with
-- `size` suggested behind `get` looks like `os.path.getsizee)`. Here the mark is set again so that
-- the rest of the line moves to the right. Builds that place it well themselves are left alone.

local M = {}

--- How many bytes after the cursor the suggestion replaces: closers that it ends with.
---
--- Only Neovim's own object knows, which is not part of its interface: where it can't be had, none.
---@param buffer integer
---@return integer
local function replaced(buffer)
  local found, capability = pcall(require, 'vim.lsp._capability')
  local completor =
    vim.tbl_get(found and capability or {}, 'all', 'inline_completion', 'active', buffer)
  local range = vim.tbl_get(completor or {}, 'current', 'range')
  return range and range.end_.col - range.start.col or 0
end

--- What to draw beside a text; nil if there is nothing to move.
---@param ghost string the first line of what is suggested
---@param after string the rest of the document's line
---@param over integer bytes of `after` that the suggestion replaces
---@return string?
function M.text(ghost, after, over)
  local closers = after:sub(1, over)
  if over > 0 and vim.endswith(ghost, closers) then
    ghost = ghost:sub(1, -1 - #closers) -- they are in the document, and are seen there
  end
  return after ~= '' and ghost ~= '' and ghost or nil
end

--- Move what is shown in a buffer beside the text that it covers.
---@param buffer integer
function M.place(buffer)
  local space = vim.api.nvim_get_namespaces()['nvim.lsp.inline_completion']
  if not space or not vim.api.nvim_buf_is_valid(buffer) then
    return
  end
  local marks = vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true })
  for _, mark in ipairs(marks) do
    local id, row, column, details = unpack(mark)
    local chunks = details.virt_text
    if chunks and chunks[1] and details.virt_text_pos == 'overlay' then
      local line = vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1] or ''
      local over = details.virt_lines and 0 or replaced(buffer)
      local text = M.text(chunks[1][1], line:sub(column + 1), over)
      if text then
        chunks[1][1] = text
        vim.api.nvim_buf_set_extmark(buffer, space, row, column, {
          id = id,
          virt_text = chunks,
          virt_lines = details.virt_lines,
          virt_text_pos = 'inline',
          hl_mode = 'combine',
        })
      end
    end
  end
end

--- Keep doing so while a buffer shows ghost text. Call it after Neovim's own listening has begun:
--- of several listeners the last one has the last word.
---@param buffer integer
function M.watch(buffer)
  local group = vim.api.nvim_create_augroup('midtoken.beside.' .. buffer, {})
  vim.api.nvim_create_autocmd({ 'InsertEnter', 'CursorMovedI', 'TextChangedP' }, {
    group = group,
    buffer = buffer,
    callback = function()
      M.place(buffer)
    end,
  })
  vim.api.nvim_create_autocmd('LspRequest', {
    group = group,
    buffer = buffer,
    callback = function(event)
      local request = event.data.request
      if request.type == 'complete' and request.method == 'textDocument/inlineCompletion' then
        vim.schedule(function()
          M.place(buffer)
        end)
      end
    end,
  })
end

return M
